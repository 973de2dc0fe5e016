"""Tools that stand for several verbs, so that language models read fewer of them. Nothing else is merged."""
