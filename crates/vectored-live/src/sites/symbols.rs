//! The function and the line of a frame, if both are certain.

use std::rc::Rc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};

use crate::sites::modules::{Module, Owner, Program, Slot};
use crate::sites::names::{is_of_c, is_of_language, readable};
use crate::sites::unwind::Frame;

/// The most tail jumps that are followed. A tail jump stands at the end of a function in place of a call of another
/// function.
const JUMPS_MAX: usize = 4;

struct Place {
    function: String,
    line: Option<(String, u32)>,
}

/// Where a call instruction, or a jump, leads.
enum Leads {
    /// Into a library or a function that makes calls for other code.
    Runtime,
    To(Rc<Module>, u64),
}

/// Finds the functions and the lines of addresses. Parsed parts of files are kept.
pub(crate) struct Symbols(Symbolizer);

impl Symbols {
    pub(crate) fn new() -> Symbols {
        let symbolizer = Symbolizer::builder().enable_auto_reload(false);
        Symbols(symbolizer.enable_demangling(false).build())
    }

    /// The innermost function outside the C library and the runtime of the language.
    pub(crate) fn site(&self, program: &Program, frames: &[Frame]) -> Option<String> {
        for (n, frame) in frames.iter().enumerate() {
            let module = &*frame.module;
            if module.owner == Owner::Runtime {
                continue;
            }
            let places = self.places(module, frame.end - 1);
            if places.is_empty() && module.owner != Owner::Other {
                // The call may be in a library.
                return None;
            }
            let mut of_runtime = places
                .iter()
                .map(|place| is_of_runtime(place, module.owner));
            if !places.is_empty() && of_runtime.all(|is_it| is_it) {
                continue;
            }
            let leads = if n == 0 { Leads::Runtime } else { self.called(program, frame)? };
            return match leads {
                Leads::Runtime => self.words(module, frame.end - 1),
                // The function ended with a jump, so its own frame is gone.
                Leads::To(module, function) => self.jump(program, &module, function, JUMPS_MAX),
            };
        }
        None
    }

    fn words(&self, module: &Module, address: u64) -> Option<String> {
        let places = self.places(module, address);
        let file = module.path.rsplit('/').next().unwrap_or_default();
        if places.is_empty() {
            return Some(format!("{}+{address:#x}", module.path));
        }
        let mut places = places.iter();
        let place = places.find(|place| !is_of_runtime(place, module.owner))?;
        let function = &place.function;
        Some(match &place.line {
            Some((path, line)) => format!("{function} at {path}:{line} ({file})"),
            None => format!("{function} ({file})"),
        })
    }

    /// The functions at an address, the innermost first. All but the last are inlined functions.
    fn places(&self, module: &Module, address: u64) -> Vec<Place> {
        let source = Source::Elf(Elf::new(module.own_path()));
        let found = self.0.symbolize_single(&source, Input::VirtOffset(address));
        let Ok(Symbolized::Sym(symbol)) = found else {
            return Vec::new();
        };
        let place = |name: &str, code: Option<&CodeInfo<'_>>| Place {
            function: readable(name),
            line: code.and_then(|code| {
                let line = code.line.filter(|&line| line > 0)?;
                Some((code.to_path().to_string_lossy().into_owned(), line))
            }),
        };
        let inlined = symbol.inlined.iter().rev();
        inlined
            .map(|one| place(&one.name, one.code_info.as_ref()))
            .chain([place(&symbol.name, symbol.code_info.as_deref())])
            .filter(|place| !place.function.is_empty())
            .collect()
    }

    /// Where the call of a frame leads. `None` if the call goes through a register whose value at the call is unknown.
    fn called(&self, program: &Program, frame: &Frame) -> Option<Leads> {
        let module = &frame.module;
        let code = module.data(frame.end.checked_sub(6)?, 6)?;
        let target = next_to(frame.end, &code[2..])?;
        // The address was loaded into a register that a callee saves.
        let kept = |register: u8| match program.find(frame.kept(register)?)? {
            (module, _) if module.owner == Owner::Runtime => Some(Leads::Runtime),
            (module, address) => self.target(program, module, address),
        };
        match code[..] {
            [0xff, 0x15, ..] => self.slot(program, module, target),
            [_, 0xe8, ..] => self.target(program, module, target),
            [.., 0x41, 0xff, register @ 0xd0..=0xd7] => kept(register - 0xd0 + 8),
            [.., 0xff, register @ 0xd0..=0xd7] => kept(register - 0xd0),
            _ => None,
        }
    }

    fn target(&self, program: &Program, module: &Rc<Module>, address: u64) -> Option<Leads> {
        if module.is_jump(address) {
            let code = module.data(address, 16)?;
            let at = code.windows(2).position(|two| two == [0xff, 0x25])? + 2;
            let slot = next_to(address + at as u64 + 4, code.get(at..at + 4)?)?;
            return self.slot(program, module, slot);
        }
        let places = self.places(module, address);
        let function = places.last();
        Some(
            if function.is_some_and(|place| is_of_runtime(place, module.owner)) {
                Leads::Runtime
            } else {
                Leads::To(Rc::clone(module), address)
            },
        )
    }

    fn slot(&self, program: &Program, module: &Rc<Module>, slot: u64) -> Option<Leads> {
        let name = match module.slot(slot)? {
            Slot::At(address) => return self.target(program, module, address),
            Slot::Named(name) => name,
        };
        let functions = program
            .modules()
            .filter_map(|(module, _)| Some((module, module.function(&name)?)));
        match functions.collect::<Vec<_>>()[..] {
            [(module, address)] if module.owner != Owner::Runtime => {
                Some(Leads::To(Rc::clone(module), address))
            }
            ref all => {
                let mut all = all.iter().map(|(module, _)| module.owner);
                all.all(|owner| owner == Owner::Runtime)
                    .then_some(Leads::Runtime)
            }
        }
    }

    /// The site of the only jump at the end of a function to another function.
    fn jump(
        &self,
        program: &Program,
        module: &Rc<Module>,
        function: u64,
        jumps_max: usize,
    ) -> Option<String> {
        let table = module.table()?;
        let begins = |address| {
            let entry = table.function(address)?;
            (entry.initial_address() == address).then_some(entry)
        };
        let (begin, end) = (function, begins(function)?.end_address());
        let mut code = module.data(begin, end - begin)?;
        code.push(0);
        let jumps = (begin..).zip(code.windows(6)).filter_map(|(at, six)| {
            let bytes = match six {
                [0xe9, ..] => 5,
                [0x0f, 0x80..=0x8f, ..] | [0xff, 0x25, ..] => 6,
                _ => return None,
            };
            let target = next_to(at + bytes as u64, &six[bytes - 4..bytes])?;
            let is_slot = six[0] == 0xff;
            let leaves = !(begin..end).contains(&target)
                && (module.is_jump(target) || begins(target).is_some());
            (is_slot || leaves).then_some((at, target, is_slot))
        });
        let [(at, target, is_slot)] = jumps.collect::<Vec<_>>()[..] else {
            return None;
        };
        let lead = if is_slot { Self::slot } else { Self::target };
        match lead(self, program, module, target)? {
            Leads::Runtime => self.words(module, at),
            Leads::To(module, function) => {
                self.jump(program, &module, function, jumps_max.checked_sub(1)?)
            }
        }
    }
}

/// The address that an instruction gives as a distance from the end of the instruction.
fn next_to(end: u64, distance: &[u8]) -> Option<u64> {
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    Some(end.wrapping_add_signed(distance.into()))
}

/// Whether a function belongs to a runtime that is linked into the program.
fn is_of_runtime(place: &Place, owner: Owner) -> bool {
    let path = place.line.as_ref().map_or("", |line| &line.0);
    is_of_language(&place.function, path)
        || owner == Owner::Static && place.line.is_none() && is_of_c(&place.function)
}
