//! Text in, Reference out: every spelling of a template reference
