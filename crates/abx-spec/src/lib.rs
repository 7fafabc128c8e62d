//! Text of a template.yaml in, Spec out: raw with spans, then meant; lineage merge; diagnostics
