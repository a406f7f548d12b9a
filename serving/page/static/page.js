// The page works without scripts; these make it quicker to use. Each module does one thing.
import { startAsking } from "./ask.js";
import { startCards } from "./cards.js";
import { startCopying } from "./clipboard.js";
import { startFilters } from "./filters.js";
import { startLoadingTexts } from "./fragments.js";
import { startHistory } from "./history.js";
import { startQuestionBoxes } from "./question_box.js";
import { startSettings } from "./settings.js";
import { startShortcuts } from "./shortcuts.js";

startAsking();
startCards();
startCopying();
startFilters();
startHistory();
startLoadingTexts();
startQuestionBoxes();
startSettings();
startShortcuts();
