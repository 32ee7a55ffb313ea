//! The function and the line of a frame, if they are certain.

use std::rc::Rc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};

use crate::sites::modules::{Module, Owner, Program, Slot};
use crate::sites::names::{is_of_c, is_of_language, readable};
use crate::sites::unwind::Frame;

/// Jumps from one function to another, in place of a call at its end, that are followed.
const JUMPS_MAX: usize = 4;

/// A function at an address, and the line of the address.
struct Place {
    function: String,
    line: Option<(String, u32)>,
}

/// What a call instruction, or a jump, leads to.
enum Leads {
    /// Into a library that makes calls for others, or into such a function.
    Runtime,
    /// To a function of a program.
    Function(Rc<Module>, u64),
}

/// Names places. What was read of a file is kept.
pub(crate) struct Symbols {
    symbolizer: Symbolizer,
}

impl Symbols {
    pub(crate) fn new() -> Symbols {
        Symbols {
            symbolizer: Symbolizer::builder()
                .enable_auto_reload(false)
                .enable_demangling(false)
                .build(),
        }
    }

    /// The innermost function outside the C library and the runtime of the language.
    pub(crate) fn site(&self, program: &Program, frames: &[Frame]) -> Option<String> {
        for frame in frames
            .iter()
            .filter(|frame| frame.module.owner != Owner::Runtime)
        {
            let places = self.places(&frame.module, frame.address());
            if places.is_empty() && frame.module.owner != Owner::Other {
                // It may be in a library.
                return None;
            }
            let is_outside = places.is_empty()
                || places
                    .iter()
                    .any(|place| !is_of_runtime(place, frame.module.owner));
            if is_outside {
                let leads =
                    if frame.is_first { Leads::Runtime } else { self.called(program, frame)? };
                return match leads {
                    Leads::Runtime => self.words(&frame.module, frame.address()),
                    // The function jumped on at its end, so its own frame is gone.
                    Leads::Function(module, address) => {
                        self.jump(program, &module, address, JUMPS_MAX)
                    }
                };
            }
        }
        None
    }

    /// The functions at an address, the innermost first. Others than the last are inlined.
    fn places(&self, module: &Module, address: u64) -> Vec<Place> {
        let source = Source::Elf(Elf::new(module.own_path()));
        let Ok(Symbolized::Sym(symbol)) = self
            .symbolizer
            .symbolize_single(&source, Input::VirtOffset(address))
        else {
            return Vec::new();
        };
        let place = |name: &str, code: Option<&CodeInfo<'_>>| Place {
            function: readable(name),
            line: code.and_then(|code| {
                Some((
                    code.to_path().to_string_lossy().into_owned(),
                    code.line.filter(|&line| line > 0)?,
                ))
            }),
        };
        let inlined = symbol
            .inlined
            .iter()
            .rev()
            .map(|one| place(&one.name, one.code_info.as_ref()));
        inlined
            .chain([place(&symbol.name, symbol.code_info.as_deref())])
            .filter(|place| !place.function.is_empty())
            .collect()
    }

    /// A site in words.
    fn words(&self, module: &Module, address: u64) -> Option<String> {
        let places = self.places(module, address);
        let file = module.path.rsplit('/').next().unwrap_or_default();
        if places.is_empty() {
            return Some(format!("{}+{address:#x}", module.path));
        }
        let place = places
            .iter()
            .find(|place| !is_of_runtime(place, module.owner))?;
        let function = &place.function;
        Some(match &place.line {
            Some((path, line)) => format!("{function} at {path}:{line} ({file})"),
            None => format!("{function} ({file})"),
        })
    }

    /// What the call at a frame leads to; `None` if that depends on a register.
    fn called(&self, program: &Program, frame: &Frame) -> Option<Leads> {
        let mut bytes = [0; 6];
        frame.module.data(frame.end.checked_sub(6)?, &mut bytes)?;
        let near = i32::from_le_bytes(bytes[2..].try_into().ok()?);
        let target = frame.end.wrapping_add_signed(near.into());
        match bytes {
            [0xff, 0x15, ..] => self.slot(program, &frame.module, target),
            [_, 0xe8, ..] => self.target(program, &frame.module, target),
            // The address was put into a register before, and functions keep it.
            [.., 0x41, 0xff, register @ 0xd0..=0xd7] => {
                self.in_memory(program, frame.kept(register - 0xd0 + 8)?)
            }
            [.., 0xff, register @ 0xd0..=0xd7] => {
                self.in_memory(program, frame.kept(register - 0xd0)?)
            }
            _ => None,
        }
    }

    fn in_memory(&self, program: &Program, address: u64) -> Option<Leads> {
        match program.find(address)? {
            (module, _) if module.owner == Owner::Runtime => Some(Leads::Runtime),
            (module, address) => self.target(program, module, address),
        }
    }

    /// What is at an address that is called.
    fn target(&self, program: &Program, module: &Rc<Module>, address: u64) -> Option<Leads> {
        if !module.is_jump(address) {
            let places = self.places(module, address);
            let is_runtime = places
                .last()
                .is_some_and(|place| is_of_runtime(place, module.owner));
            return Some(if is_runtime {
                Leads::Runtime
            } else {
                Leads::Function(Rc::clone(module), address)
            });
        }
        let mut bytes = [0; 16];
        module.data(address, &mut bytes)?;
        let at = bytes.windows(2).position(|two| two == [0xff, 0x25])?;
        let near = i32::from_le_bytes(bytes.get(at + 2..at + 6)?.try_into().ok()?);
        let end = address + at as u64 + 6;
        self.slot(program, module, end.checked_add_signed(near.into())?)
    }

    fn slot(&self, program: &Program, module: &Rc<Module>, address: u64) -> Option<Leads> {
        let name = match module.slot(address)? {
            Slot::At(address) => return self.target(program, module, address),
            Slot::Named(name) => name,
        };
        let functions = program
            .modules()
            .filter_map(|(module, _)| Some((module, module.function(&name)?)));
        let all: Vec<_> = functions.collect();
        if all.iter().all(|(module, _)| module.owner == Owner::Runtime) {
            return (!all.is_empty()).then_some(Leads::Runtime);
        }
        match &all[..] {
            [(module, address)] => Some(Leads::Function(Rc::clone(module), *address)),
            _ => None,
        }
    }

    /// The only jump from a function to another one at its end, as a site.
    fn jump(
        &self,
        program: &Program,
        module: &Rc<Module>,
        function: u64,
        jumps_max: usize,
    ) -> Option<String> {
        let range = module
            .table()?
            .function(function)
            .filter(|range| range.start == function)?;
        let mut code = vec![0; usize::try_from(range.end - range.start).ok()?];
        module.data(range.start, &mut code)?;
        let mut jumps = Vec::new();
        for (at, five) in code.windows(5).enumerate() {
            let near = |bytes: &[u8]| Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?)));
            let end = range.start + at as u64 + 5;
            let long = code.get(at..at + 6).and_then(|six| near(&six[2..]));
            let to = |end: u64, near: i64| end.checked_add_signed(near);
            let leaves = |&target: &u64| {
                !range.contains(&target)
                    && (module.is_jump(target)
                        || module
                            .table()
                            .and_then(|table| table.function(target))
                            .is_some_and(|other| other.start == target))
            };
            let (target, is_slot) = match five {
                [0xe9, ..] => (to(end, near(&five[1..])?).filter(leaves), false),
                [0x0f, 0x80..=0x8f, ..] => (
                    long.and_then(|near| to(end + 1, near)).filter(leaves),
                    false,
                ),
                [0xff, 0x25, ..] => (long.and_then(|near| to(end + 1, near)), true),
                _ => continue,
            };
            if let Some(target) = target {
                jumps.push((range.start + at as u64, target, is_slot));
            }
        }
        let [(address, target, is_slot)] = jumps[..] else {
            return None;
        };
        let leads = if is_slot {
            self.slot(program, module, target)
        } else {
            self.target(program, module, target)
        };
        match leads? {
            Leads::Runtime => self.words(module, address),
            Leads::Function(module, function) => {
                self.jump(program, &module, function, jumps_max.checked_sub(1)?)
            }
        }
    }
}

/// Whether a function belongs to a runtime that is linked into the program.
fn is_of_runtime(place: &Place, owner: Owner) -> bool {
    let path = place.line.as_ref().map_or("", |line| &line.0);
    is_of_language(&place.function, path)
        || owner == Owner::Static && place.line.is_none() && is_of_c(&place.function)
}
