"""Values of records: their JSON form, their fields, and what is promised of them."""
