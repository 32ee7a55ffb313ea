//! Sets `std_has_pipes` if the standard library has `std::io::PipeWriter`: Rust 1.87.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(std_has_pipes)");
    let rustc = std::env::var_os("RUSTC").expect("cargo sets RUSTC");
    let output = Command::new(rustc).arg("--version").output();
    let version = output.expect("RUSTC prints its version").stdout;
    let version = String::from_utf8_lossy(&version);
    // "rustc 1.87.0 (17067e9ac 2025-05-09)"
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok());
    if minor.is_some_and(|minor: u32| minor >= 87) {
        println!("cargo::rustc-cfg=std_has_pipes");
    }
}
