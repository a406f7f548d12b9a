from __future__ import annotations

import pytest

from shrag.indexing.analysis.latin import stem_words
from shrag.indexing.analysis.spellings.british import american_spelling

PAIRS = dict(
    pair.split(":")
    for pair in """
    optimise:optimize organisations:organizations organisational:organizational fertilisers:fertilizers
    analysed:analyzed catalysing:catalyzing hydrolyses:hydrolyzes
    behaviour:behavior behavioural:behavioral unfavourable:unfavorable tumours:tumors odour:odor saviour:savior
    rancour:rancor succoured:succored pretences:pretenses
    centre:center centres:centers centred:centered multicentre:multicenter fibres:fibers
    fibreglass:fiberglass litres:liters micrometre:micrometer amphitheatre:amphitheater
    dialogue:dialog catalogued:cataloged cataloguing:cataloging
    modelling:modeling relabelled:relabeled travellers:travelers tunnelling:tunneling counsellor:counselor
    haemoglobin:hemoglobin ischaemic:ischemic leukaemia:leukemia paediatrics:pediatrics orthopaedic:orthopedic
    anaesthetist:anesthetist gynaecology:gynecology archaeology:archeology palaeolithic:paleolithic
    oesophagus:esophagus oestrogen:estrogen lymphoedema:lymphedema foetal:fetal diarrhoea:diarrhea apnoea:apnea
    coeliac:celiac caesarean:cesarean caesium:cesium faecal:fecal aetiology:etiology homoeopathy:homeopathy
    leucocytes:leukocytes manoeuvre:maneuver manoeuvred:maneuvered manoeuvring:maneuvering
    sulphate:sulfate aluminium:aluminum ploughing:plowing moulded:molded smouldering:smoldering grey:gray tyres:tires
    artefacts:artifacts sceptical:skeptical ageing:aging judgement:judgment enrolment:enrollment fulfils:fulfills
    skilful:skillful defence:defense licences:licenses licenced:licensed practised:practiced practising:practicing
    programmes:programs kilogramme:kilogram specialities:specialties aeroplane:airplane
    """.split()
)


@pytest.mark.parametrize("british", PAIRS)
def test_a_british_spelling_has_the_term_of_the_american_one(british: str) -> None:
    assert american_spelling(british) == PAIRS[british]
    assert stem_words([british]) == stem_words([PAIRS[british]])


@pytest.mark.parametrize("american", PAIRS.values())
def test_an_american_spelling_stays(american: str) -> None:
    assert american_spelling(american) == american


@pytest.mark.parametrize(
    "word",
    "exercise precise unsupervised immunocompromised supervised revised advertising compromise promising arise "
    "enterprise noise raising praised likewise hour four course resource contour acre genre massacre there "
    "parametric control controlled selling "
    "cell excelled fellow college analysis basis crisis disease expertise shoestring angioedema gastroesophageal "
    "aerobic does poem science influence evidence monologue vogue programmed programming programmer greyhound boulder "
    "metric centrifugal alumina sulfur management".split(),
)
def test_other_words_stay(word: str) -> None:
    assert american_spelling(word) == word


def test_forms_that_have_one_term_in_american_spelling_have_it_in_british() -> None:
    assert len(set(stem_words(["modelling", "models", "modelled", "modeling", "modeled"]))) == 1
    assert len(set(stem_words(["colour", "colours", "coloured", "colouring", "color"]))) == 1
    assert len(set(stem_words(["programme", "programmes", "programming", "program"]))) == 1
