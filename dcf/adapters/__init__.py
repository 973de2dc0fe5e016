"""Ways to reach an agent behind the `Deliverer` port."""
