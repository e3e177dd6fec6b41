package engine_test

import "testing"

// One test per script; the number is its case in docs/contract/matching.md#cases.

func TestCase01PriceThenArrival(t *testing.T) { runScript(t, "case01_price_then_arrival.txt") }

func TestCase02MakerPrice(t *testing.T) { runScript(t, "case02_maker_price.txt") }

func TestCase03LimitStopsMidSweep(t *testing.T) { runScript(t, "case03_limit_stops_mid_sweep.txt") }

func TestCase04ExactLevelBoundary(t *testing.T) { runScript(t, "case04_exact_level_boundary.txt") }

func TestCase05TouchAtEqualPrices(t *testing.T) { runScript(t, "case05_touch_at_equal_prices.txt") }

func TestCase08CancelInQueue(t *testing.T) { runScript(t, "case08_cancel_in_queue.txt") }

func TestCase09CancelMovesTheTouch(t *testing.T) { runScript(t, "case09_cancel_moves_the_touch.txt") }

func TestCase10CancelRefused(t *testing.T) { runScript(t, "case10_cancel_refused.txt") }

func TestCase11CancelAfterPartialFill(t *testing.T) {
	runScript(t, "case11_cancel_after_partial_fill.txt")
}

func TestCase12IdsAreDenseAndNeverReused(t *testing.T) {
	runScript(t, "case12_ids_are_dense_and_never_reused.txt")
}

func TestCase13DecreaseKeepsThePlace(t *testing.T) {
	runScript(t, "case13_decrease_keeps_the_place.txt")
}

func TestCase14ReplaceThatCrosses(t *testing.T) { runScript(t, "case14_replace_that_crosses.txt") }

func TestCase15ReplaceToWhatIsFilled(t *testing.T) {
	runScript(t, "case15_replace_to_what_is_filled.txt")
}

func TestCase16ReplaceLeavesNeighbors(t *testing.T) {
	runScript(t, "case16_replace_leaves_neighbors.txt")
}

func TestCase17ReplaceRefused(t *testing.T) { runScript(t, "case17_replace_refused.txt") }

func TestCase18ReplaceOfNothing(t *testing.T) { runScript(t, "case18_replace_of_nothing.txt") }

func TestCase19Market(t *testing.T) { runScript(t, "case19_market.txt") }

func TestCase20MarketByQuote(t *testing.T) { runScript(t, "case20_market_by_quote.txt") }

func TestCase21Ioc(t *testing.T) { runScript(t, "case21_ioc.txt") }

func TestCase22Fok(t *testing.T) { runScript(t, "case22_fok.txt") }

func TestCase23FokCountsWhatMayTrade(t *testing.T) {
	runScript(t, "case23_fok_counts_what_may_trade.txt")
}

func TestCase24PostOnly(t *testing.T) { runScript(t, "case24_post_only.txt") }

func TestCase25AllOrNoneIsNotOffered(t *testing.T) {
	runScript(t, "case25_all_or_none_is_not_offered.txt")
}

func TestCase26Iceberg(t *testing.T) { runScript(t, "case26_iceberg.txt") }

func TestCase27Stops(t *testing.T) { runScript(t, "case27_stops.txt") }

func TestCase27StopCascade(t *testing.T) { runScript(t, "case27_stop_cascade.txt") }

func TestCase27StopTurnedAway(t *testing.T) { runScript(t, "case27_stop_turned_away.txt") }

func TestCase28SelfTrade(t *testing.T) { runScript(t, "case28_self_trade.txt") }

func TestCase28DecrementByQuote(t *testing.T) { runScript(t, "case28_decrement_by_quote.txt") }

func TestCase28OutOfReach(t *testing.T) { runScript(t, "case28_out_of_reach.txt") }

func TestCase30Depth(t *testing.T) { runScript(t, "case30_depth.txt") }

func TestCase34FeesStandInTheTrade(t *testing.T) { runScript(t, "case34_fees_stand_in_the_trade.txt") }

func TestCase35RefusedMembers(t *testing.T) { runScript(t, "case35_refused_members.txt") }

func TestCase39TakeProfit(t *testing.T) { runScript(t, "case39_take_profit.txt") }

func TestCase40TrailingTable(t *testing.T) { runScript(t, "case40_trailing_table.txt") }

func TestCase40TrailingScenarios(t *testing.T) { runScript(t, "case40_trailing_scenarios.txt") }

func TestCase40TrailingFirstTrade(t *testing.T) { runScript(t, "case40_trailing_first_trade.txt") }

func TestCase40TrailingRules(t *testing.T) { runScript(t, "case40_trailing_rules.txt") }

func TestCase41ReplaceOfWaitingOrders(t *testing.T) { runScript(t, "case41_replace_waiting.txt") }

func TestCase39StrictTrigger(t *testing.T) { runScript(t, "case39_strict_trigger.txt") }

func TestCase44PreventedMatches(t *testing.T) { runScript(t, "case44_prevented_matches.txt") }

func TestCase45AcceptAndExpire(t *testing.T) { runScript(t, "case45_accept_and_expire.txt") }

func TestCase46CancelRestrictions(t *testing.T) { runScript(t, "case46_cancel_restrictions.txt") }

func TestCase47SellByQuote(t *testing.T) { runScript(t, "case47_sell_by_quote.txt") }

func TestCase48Amend(t *testing.T) { runScript(t, "case48_amend.txt") }

func TestCase49DelistedPair(t *testing.T) { runScript(t, "case49_delisted_pair.txt") }

func TestScriptMoneyOfMarketBuys(t *testing.T) { runScript(t, "money_market_buys.txt") }

func TestScriptMoneyOfStops(t *testing.T) { runScript(t, "money_stops.txt") }

func TestScriptMoneyOfReplaces(t *testing.T) { runScript(t, "money_replace.txt") }

func TestScriptMoneyAndLimits(t *testing.T) { runScript(t, "money_limits.txt") }

func TestScriptPairStates(t *testing.T) { runScript(t, "pair_states.txt") }

func TestScriptMassCancel(t *testing.T) { runScript(t, "mass_cancel.txt") }

func TestScriptClientIds(t *testing.T) { runScript(t, "client_ids.txt") }

func TestScriptReusableClientIds(t *testing.T) { runScript(t, "client_ids_reusable.txt") }

func TestCase42OneCancelsTheOther(t *testing.T) { runScript(t, "case42_oco.txt") }

func TestCase42OneTriggersTheOthers(t *testing.T) { runScript(t, "case42_oto.txt") }

func TestCase42WhatWasBoughtIsSold(t *testing.T) { runScript(t, "case42_opo.txt") }

func TestCase42OrdersOfListsChange(t *testing.T) { runScript(t, "case42_changes.txt") }

func TestCase42StopScenarios(t *testing.T) { runScript(t, "case42_stop_scenarios.txt") }
