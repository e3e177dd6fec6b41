// The script of the other pages, which share one shell.
import { show as admin } from './admin.js';
import { show as hive } from './hive.js';
import { show as launchpad } from './launchpad.js';
import { start } from './main.js';
import { show as missing } from './missing.js';
import { show as status } from './status.js';

const page = { '/launchpad': launchpad, '/hive': hive, '/status': status, '/admin': admin }[location.pathname] ?? missing;
start(page, page === status);
