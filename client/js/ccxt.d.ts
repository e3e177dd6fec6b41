// Types of ccxt.mjs.

/** Returns the exchange class of TickHive on top of a ccxt: makeTickHive(ccxt). */
export declare function makeTickHive(ccxt: any): new (config?: object) => any;
