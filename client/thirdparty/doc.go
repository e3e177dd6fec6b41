// Package thirdparty runs clients of others, unmodified, against the real program. package.json and
// package-lock.json pin them; `make clients` installs and runs them.
//
// check.mjs holds the structures that ccxt's manual documents, as checks of any ccxt exchange;
// check_test.mjs proves that the checks find what is wrong. unified.mjs has a call of each unified method. Each other
// *_test.mjs is one run of node:
//
//	ccxt_test.mjs     each unified call of ccxt by name, with the class of client/js and with ccxt.binance
//	native_test.mjs   what the ccxt class of client/js does beyond a single call
//	binance_test.mjs  market data by ccxt.binance, binance-api-node, @binance/connector, binance
//	binance_orders_test.mjs  trading by the same
//	binance_user_test.mjs    streams, user data and the WebSocket API by the same
//	binance_spot_test.mjs    every call of @binance/spot
//	binance_clients_test.mjs every call for Spot of node-binance-api and of the three others
//	programs_test.mjs        the programs of docs/programs.md, as they are printed
//	package_test.mjs         the npm package of client/js in an empty project, and its types by tsc
//	binance_bots_test.mjs    the bots of bots.mjs, for some seconds, or 10 minutes with TICKHIVE_SOAK=1
//
// generated_test.go makes clients of the OpenAPI documents with oapi-codegen and openapi-typescript, and runs
// the programs in testdata/generated with them.
//
// Owner: the tests. Invariant: the packages are as their authors published them; only URLs and keys are
// set.
package thirdparty
