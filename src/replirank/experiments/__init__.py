"""What the papers try that is not a method on a data set. Each writes a tidy file that tables are made from."""
