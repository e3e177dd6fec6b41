// The script of the market page.
import { start } from './main.js';
import { show } from './market.js';

start(show);
