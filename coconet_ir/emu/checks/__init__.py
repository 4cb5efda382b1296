"""What is checked: plans and programs, their expected values, and the process that runs them."""
