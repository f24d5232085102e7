"""Whether an anchor may be moved, and to what; nothing here measures or writes."""
