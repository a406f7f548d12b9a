// The page answers without any script; these make it quicker to use. Each module does one thing and stands alone.
import { startAsking } from "./ask.js";
import { startCards } from "./cards.js";
import { startCopying } from "./copying.js";
import { startFilters } from "./filters.js";
import { startHistory } from "./history.js";
import { startKeys } from "./keys.js";
import { startUnfolding } from "./pieces.js";
import { startSettings } from "./settings.js";

startAsking();
startCards();
startCopying();
startFilters();
startHistory();
startKeys();
startSettings();
startUnfolding();
