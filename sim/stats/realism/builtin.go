package realism

// builtin holds the ranges of six public recordings: a day of AMZN and the first minute of AAPL on NASDAQ (LOBSTER,
// 2012-06-21), BTC/USDT on Binance (2024-08-08, 5 minutes), on Kraken (2025-11-10, 7 hours), BTC/USD on Bitstamp
// (2015-05-01, 2 hours) and on Coinbase (2016-10-07, the second bars of a day).
var builtin = []Range{
	{"spread", 1, 13.5, 24, 64},
	{"gap", 2, 7, 18, 22},
	{"depth_near", 1.042, 560.7, 4125, 47},
	{"depth_far", 0.2563, 0.516, 2.2, 22},
	{"levels", 1036, 1150, 1225, 9},
	{"order_size", 1, 2.961, 5.556, 55},
	{"trade_size", 1.187, 2.339, 58.33, 75},
	{"cancels", 2.21, 16.37, 71.55, 55},
	{"kurtosis_10s", 7.114, 14.52, 79.93, 35},
	{"kurtosis_60s", 3.246, 4.828, 10.77, 35},
	{"clustering", -0.03331, -0.0007463, 0.0408, 35},
	{"sign_1", 0.4734, 0.6222, 0.8349, 65},
	{"sign_10", -0.07674, 0.1379, 0.5928, 65},
	{"sign_100", -0.2044, -0.02398, 0.2277, 65},
	{"impact_1", -0.0497, 0.3443, 0.51, 63},
	{"impact_20", 0.0147, 0.2472, 0.4308, 63},
}

// Builtin returns the ranges of public recordings, for a comparison without their files.
func Builtin() []Range { return builtin }
