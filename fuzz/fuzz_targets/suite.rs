#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| abx_fuzz::suite(bytes));
