"""From findings to repaired source: what codemods see (`site`), asking them (`propose`), edits as text (`edits`),
which fixes to apply (`plan`), passes to a fixpoint (`session`) and files on disk (`rewrite`)."""
