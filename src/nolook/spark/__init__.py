"""Tables of Spark: its workers add rows up where they are."""
