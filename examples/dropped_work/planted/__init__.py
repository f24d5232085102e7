"""A q6_K gate that forgot its upper bound."""
