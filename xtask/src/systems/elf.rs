//! Whether a program for Linux is static: elf(5).

/// The loader of a program of 64 bits, little-endian: its entry `PT_INTERP`. A static program has none.
pub fn loader(file: &[u8]) -> Result<Option<String>, &'static str> {
    /// The type of the entry that names the loader.
    const PT_INTERP: u64 = 3;
    let number = |at: usize, bytes: usize| {
        let field = file.get(at..at + bytes).ok_or("ends within its headers")?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(field.iter().rev().fold(0, add))
    };
    // `EI_CLASS` and `EI_DATA`: 64 bits, little-endian.
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return Err("is no ELF program of 64 bits, little-endian");
    }
    // `e_phoff`, `e_phentsize` and `e_phnum`.
    let (start, entry_bytes, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let entry = (start + index * entry_bytes) as usize;
        if number(entry, 4)? == PT_INTERP {
            // `p_offset` and `p_filesz`.
            let (at, bytes) = (
                number(entry + 8, 8)? as usize,
                number(entry + 32, 8)? as usize,
            );
            let name = file
                .get(at..at + bytes)
                .ok_or("ends within the name of its loader")?;
            let name = String::from_utf8_lossy(name);
            return Ok(Some(name.trim_end_matches('\0').to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with these types of program headers; the last of them names the loader.
    fn program(types: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = types.len() as u8;
        let name = 64 + 56 * types.len();
        for kind in types {
            let mut entry = [0; 56];
            entry[0] = *kind;
            entry[8] = name as u8;
            entry[32] = 4;
            file.extend(entry);
        }
        file.extend(b"/ld\0");
        file
    }

    #[test]
    fn a_program_is_static_if_no_header_names_a_loader() {
        assert_eq!(loader(&program(&[1, 2])), Ok(None));
        assert_eq!(loader(&program(&[1, 3])), Ok(Some("/ld".to_owned())));
        assert!(loader(&program(&[1, 3])[..100]).is_err());
        assert!(loader(b"#!/bin/sh").is_err());
    }

    #[test]
    #[cfg(all(
        target_os = "linux",
        target_env = "gnu",
        target_endian = "little",
        target_pointer_width = "64"
    ))]
    fn this_test_program_has_a_loader() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(
            loader(&program)
                .unwrap()
                .is_some_and(|loader| loader.starts_with('/'))
        );
    }
}
