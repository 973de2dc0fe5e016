"""A workflow as a document alone: checked, drawn, tried in memory and explained."""
