//! Image and settings in, Sandbox out: monitor, lifecycle, probes, state on disk
