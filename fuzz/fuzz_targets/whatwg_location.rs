#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| messageweave_lb_fuzz::whatwg_location(data));
