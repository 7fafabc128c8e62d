//! Reference in, Package out: pinned, on disk or embedded; the lineage over base.from
