#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| vectored_conformance::fuzz::receiver(data));
