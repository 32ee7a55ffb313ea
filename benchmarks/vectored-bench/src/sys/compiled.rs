//! Programs of C that are compiled by `cc` when they are needed, and loaded.

use std::ffi::CString;
use std::path::Path;
use std::process::Command;

use super::library::Library;

/// Compiles a text of C with these words and loads it until the process ends.
///
/// # Errors
///
/// If there is no `cc`; otherwise the errors that `cc` prints.
pub fn build(name: &str, text: &str, words: &[&str]) -> Result<Library, String> {
    let file = format!("vectored-{name}-{}", std::process::id());
    let stem = std::env::temp_dir().join(file);
    let (source, object) = (stem.with_extension("c"), stem.with_extension("so"));
    let built = compile(text, (&source, &object), words).and_then(|()| {
        let name = CString::new(object.as_os_str().as_encoded_bytes()).expect("a path");
        // Loaded until the process ends, as is its name.
        Library::load(Box::leak(name.into_boxed_c_str()))
    });
    for path in [&source, &object] {
        // The file may not have been made.
        let _absent = std::fs::remove_file(path);
    }
    built
}

fn compile(text: &str, (source, object): (&Path, &Path), words: &[&str]) -> Result<(), String> {
    std::fs::write(source, text).map_err(|error| format!("cannot write the source: {error}"))?;
    let mut command = Command::new("cc");
    command.args(["-O2", "-shared", "-fPIC", "-o"]);
    command.args([object, source]).args(words);
    let output = command.output();
    let output = output.map_err(|error| format!("cannot start cc: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
