package bench

func runHTTP(*Run) error    { return nil }
func runFresh(*Run) error   { return nil }
func runOrders(*Run) error  { return nil }
func runPoll(*Run) error    { return nil }
func runMixed(*Run) error   { return nil }
func runStreams(*Run) error { return nil }
func runScale(*Run) error   { return nil }
