package entry

// TooMany is tooMany.
var TooMany = tooMany
