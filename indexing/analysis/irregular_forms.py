"""English words that Porter's stemmer leaves in two forms: children and child, analyses and analysis, fourth and 4th.

The table leaves out plurals that are also words of their own (media, data, leaves, lives, bases), and *first* and
*second*.
"""

from __future__ import annotations

IRREGULAR_FORMS = dict(
    pair.split(":")
    for pair in """
    children:child men:man women:woman feet:foot teeth:tooth mice:mouse geese:goose lice:louse oxen:ox
    calves:calf halves:half knives:knife shelves:shelf thieves:thief wives:wife wolves:wolf

    criteria:criterion phenomena:phenomenon automata:automaton ganglia:ganglion
    bacteria:bacterium curricula:curriculum equilibria:equilibrium maxima:maximum memoranda:memorandum
    millennia:millennium minima:minimum momenta:momentum optima:optimum ova:ovum quanta:quantum spectra:spectrum
    strata:stratum symposia:symposium

    appendices:appendix cortices:cortex helices:helix indices:index matrices:matrix vertices:vertex vortices:vortex

    analyses:analysis axes:axis crises:crisis diagnoses:diagnosis emphases:emphasis hypotheses:hypothesis
    metastases:metastasis neuroses:neurosis parentheses:parenthesis prognoses:prognosis prostheses:prosthesis
    psychoses:psychosis stenoses:stenosis syntheses:synthesis synopses:synopsis theses:thesis

    alumni:alumnus bacilli:bacillus cacti:cactus emboli:embolus foci:focus fungi:fungus loci:locus nuclei:nucleus
    radii:radius stimuli:stimulus thrombi:thrombus
    corpora:corpus genera:genus

    third:3rd fourth:4th fifth:5th sixth:6th seventh:7th eighth:8th ninth:9th tenth:10th eleventh:11th twelfth:12th
    thirteenth:13th fourteenth:14th fifteenth:15th sixteenth:16th seventeenth:17th eighteenth:18th nineteenth:19th
    twentieth:20th
    """.split()
)
"""Plural → singular, and ordinal → figure, in lower case."""
