//! Lines of CPython 3.11 to 3.14. The program in the kernel copies the frames of the calling thread. The code objects of these
//! frames are read from the process.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use aya::maps::{HashMap, MapData};
use rustc_hash::FxHashMap;

use crate::record::{PYTHON_FRAMES, PYTHON_WORDS, Sample};
use crate::sites::linetable::line;
use crate::sites::modules::{Module, Owner, Program};

/// Where CPython keeps the running frame of each process: `struct python` of `bpf/live.bpf.c`.
pub(crate) type Pythons = HashMap<MapData, u32, [u64; 7]>;

/// Bytes of a code object that are read.
const CODE_BYTES: u64 = 256;

/// Code objects that are remembered. When there are more, all are forgotten.
const CODES_MAX: usize = 1 << 16;

/// Offsets within the structures of a version of CPython.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offsets {
    /// Offsets for the kernel: the interpreters in `_PyRuntime`, the first thread of an interpreter; the number of a thread, the
    /// next thread, the thread's `cframe` (0 from 3.13 on); the running frame, and the frame before it.
    kernel: [u64; 7],
    /// Offsets in a frame: the code, the instruction, and the owner.
    frame: [u64; 3],
    /// Offsets in a code object: the file, the name, the table of lines, the first line, and the instructions.
    code: [u64; 5],
    /// Bytes before the letters of an ASCII string, and of any other string.
    text: [u64; 2],
}

/// From the headers of CPython 3.11 and 3.12.
const OF_3_11: Offsets = Offsets {
    kernel: [40, 16, 160, 8, 56, 8, 48],
    frame: [32, 56, 69],
    code: [112, 128, 136, 72, 184],
    text: [48, 72],
};
const OF_3_12: Offsets = Offsets {
    kernel: [40, 72, 144, 8, 56, 0, 8],
    frame: [0, 56, 70],
    code: [112, 128, 136, 68, 192],
    text: [40, 56],
};

impl Offsets {
    /// Reads `_Py_DebugOffsets`, which 3.13 and later have at the beginning of `_PyRuntime`.
    fn read(bytes: &[u8]) -> Option<Offsets> {
        let words: [u64; 64] = std::array::from_fn(|at| word(bytes, 8 * at as u64));
        let (interpreter, frame) = match words[1] >> 16 {
            0x030d => (13, 6),
            0x030e => (16, 8),
            _ => return None,
        };
        let is_free_threaded = words[2] != 0;
        if words[0] != u64::from_le_bytes(*b"xdebugpy") || is_free_threaded {
            return None;
        }
        let state = &words[6 + interpreter..];
        let frames = &state[9..];
        let code = &frames[frame..];
        let offsets = Offsets {
            kernel: [
                words[5], words[9], state[6], state[2], 0, state[4], frames[1],
            ],
            frame: [frames[2], frames[3], frames[5]],
            code: [code[1], code[3], code[4], code[5], code[9]],
            text: OF_3_12.text,
        };
        let in_frame = 8 * (PYTHON_WORDS as u64 - 1);
        let fits = offsets.kernel[6] <= in_frame
            && offsets.frame.iter().all(|&offset| offset <= in_frame)
            && offsets.code[..4]
                .iter()
                .all(|&offset| offset <= CODE_BYTES - 8);
        fits.then_some(offsets)
    }
}

/// The interpreter in a file or in a process. Addresses are addresses in that file or process.
#[derive(Clone, Copy)]
struct Layout {
    /// `None` if the version is unknown.
    offsets: Option<Offsets>,
    runtime: u64,
    /// `PyCode_Type`.
    code_type: Option<u64>,
}

impl Layout {
    /// The layout of a module; `None` if the module has no `_PyRuntime`, which only CPython has.
    fn of(module: &Module) -> Option<Layout> {
        let runtime = module.function(b"_PyRuntime")?;
        let version = module.function(b"Py_Version");
        let version = version.and_then(|at| module.data(at, 8));
        let offsets = match version.map(|bytes| word(&bytes, 0) >> 16) {
            Some(0x030b) => Some(OF_3_11),
            Some(0x030c) => Some(OF_3_12),
            _ => module
                .data(runtime, 8 * 64)
                .and_then(|bytes| Offsets::read(&bytes)),
        };
        Some(Layout {
            offsets,
            runtime,
            code_type: module.function(b"PyCode_Type"),
        })
    }
}

struct Code {
    /// The fields that the code object had when it was read. If the fields differ now, the memory holds another
    /// object.
    fields: [u64; 4],
    name: String,
    file: String,
    table: Vec<u8>,
}

pub(crate) struct Python {
    map: Pythons,
    /// Layouts, by the address at which the module is kept in memory: a module never moves.
    layouts: FxHashMap<usize, Option<Layout>>,
    interpreters: FxHashMap<u32, Layout>,
    codes: FxHashMap<(u32, u64), Code>,
    pub(crate) has_news: bool,
}

impl Python {
    pub(crate) fn new(map: Pythons) -> Python {
        Python {
            map,
            layouts: FxHashMap::default(),
            interpreters: FxHashMap::default(),
            codes: FxHashMap::default(),
            has_news: false,
        }
    }

    /// Tells the kernel where the frames of a process are, if the process runs CPython.
    pub(crate) fn note(&mut self, process: u32, program: &Program) {
        if self.interpreters.contains_key(&process) {
            return;
        }
        let mut others = program
            .modules()
            .filter(|(module, _)| module.owner != Owner::Runtime);
        let found = others.find_map(|(module, base)| {
            let layout = self.layout(module).filter(|one| one.offsets.is_some())?;
            Some(Layout {
                runtime: layout.runtime.wrapping_add(base),
                code_type: layout.code_type.map(|at| at.wrapping_add(base)),
                ..layout
            })
        });
        if let Some(layout) = found {
            self.insert(process, layout);
            self.has_news = true;
        }
    }

    fn insert(&mut self, process: u32, layout: Layout) {
        // If the map is full, the lines of further processes are unknown.
        if let Some(Offsets { mut kernel, .. }) = layout.offsets {
            kernel[0] = kernel[0].wrapping_add(layout.runtime);
            if self.map.insert(process, kernel, 0).is_ok() {
                self.interpreters.insert(process, layout);
            }
        }
    }

    pub(crate) fn fork(&mut self, process: u32, child: u32) {
        if let Some(interpreter) = self.interpreters.get(&process).copied() {
            self.insert(child, interpreter);
        }
    }

    pub(crate) fn forget(&mut self, process: u32) {
        if self.interpreters.remove(&process).is_some() {
            self.codes.retain(|code, _| code.0 != process);
            // An `execve` may have removed the entry.
            let _ = self.map.remove(&process);
        }
    }

    /// Whether a file is an interpreter of CPython, of any version.
    pub(crate) fn is_interpreter(&mut self, module: &Rc<Module>) -> bool {
        self.layout(module).is_some()
    }

    fn layout(&mut self, module: &Rc<Module>) -> Option<Layout> {
        *self
            .layouts
            .entry(Rc::as_ptr(module) as usize)
            .or_insert_with(|| Layout::of(module))
    }

    /// The innermost function outside the standard library. If all functions are in the standard library, the
    /// innermost of them.
    pub(crate) fn site(&mut self, process: u32, sample: &Sample) -> Option<String> {
        let layout = *self.interpreters.get(&process)?;
        let [code_at, instruction_at, owner] = layout.offsets?.frame;
        let memory = File::open(format!("/proc/{process}/mem")).ok();
        let mut innermost = None;
        for frame in &sample.python {
            let bytes: Vec<u8> = frame.iter().flat_map(|word| word.to_le_bytes()).collect();
            // An owner above 2 is a frame of the interpreter itself, between calls of C and Python.
            if bytes[owner as usize] > 2 {
                continue;
            }
            // In 3.14, the lowest bits are marks.
            let code = word(&bytes, code_at) & !7;
            let instruction = word(&bytes, instruction_at);
            let (site, is_own) = self.line(process, layout, memory.as_ref(), code, instruction)?;
            if is_own {
                return Some(site);
            }
            innermost.get_or_insert(site);
        }
        // If the sample is full, the caller outside the standard library may be further out.
        innermost.filter(|_| sample.python.len() < PYTHON_FRAMES)
    }

    /// The line of a frame, and whether the line is outside the standard library.
    fn line(
        &mut self,
        process: u32,
        layout: Layout,
        memory: Memory<'_>,
        code: u64,
        instruction: u64,
    ) -> Option<(String, bool)> {
        let offsets = layout.offsets?;
        if let Some(bytes) = read(memory, code, CODE_BYTES) {
            let [file, name, table_at, first_line, _] = offsets.code;
            let fields = [file, name, table_at, first_line].map(|at| word(&bytes, at));
            let mut types = layout.code_type.into_iter();
            if !is_alive(word(&bytes, 0)) || types.any(|at| word(&bytes, 8) != at) {
                return None;
            }
            let known = self.codes.get(&(process, code));
            if known.is_none_or(|known| known.fields != fields) {
                let new = Code {
                    fields,
                    file: text(memory, fields[0], offsets.text)?,
                    name: text(memory, fields[1], offsets.text)?,
                    table: table(memory, fields[2])?,
                };
                if self.codes.len() >= CODES_MAX {
                    self.codes.clear();
                }
                self.codes.insert((process, code), new);
            }
        }
        // If the process has ended, the code objects that were read before still count.
        let known = self.codes.get(&(process, code))?;
        let unit = instruction.checked_sub(code + offsets.code[4])? / 2;
        let line = line(&known.table, i64::from(known.fields[3] as i32), unit)?;
        Some((
            format!("{} at {}:{line}", known.name, known.file),
            !is_of_library(&known.file),
        ))
    }
}

fn is_of_library(file: &str) -> bool {
    let is_installed = file.contains("/site-packages/") || file.contains("/dist-packages/");
    file.starts_with("<frozen ") || file.contains("/lib/python3.") && !is_installed
}

/// Whether a number can be a count of references. When the allocator frees an object, it overwrites the count with an address
/// or 0.
fn is_alive(references: u64) -> bool {
    // From 3.14 on the upper 16 bits are flags.
    references != 0 && (references >> 32 == 0 || references >> 48 != 0)
}

fn word(bytes: &[u8], at: u64) -> u64 {
    let at = at as usize;
    bytes.get(at..at + 8).map_or(0, |bytes| {
        u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
    })
}

/// The memory of a process, unless it has ended.
type Memory<'m> = Option<&'m File>;

/// Bytes at an address, at most 1 MiB.
fn read(memory: Memory<'_>, at: u64, length: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(length).ok()?;
    let mut bytes = (length <= 1 << 20).then(|| vec![0; length])?;
    memory?.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn table(memory: Memory<'_>, at: u64) -> Option<Vec<u8>> {
    let head = read(memory, at, 24)?;
    let is_alive = is_alive(word(&head, 0));
    is_alive.then(|| read(memory, at + 32, word(&head, 16)))?
}

fn text(memory: Memory<'_>, at: u64, before: [u64; 2]) -> Option<String> {
    let head = read(memory, at, 40)?;
    let (length, state) = (word(&head, 16), word(&head, 32) as u32);
    // The bits follow the field `interned`. This field has 2 bits, and 16 bits in later versions.
    let bits = if state >> 2 & 7 != 0 { state >> 2 } else { state >> 16 };
    let (kind, is_compact, is_ascii) = (bits & 7, bits & 8 != 0, bits & 16 != 0);
    if !matches!(kind, 1 | 2 | 4) || !is_compact || length > 4096 || !is_alive(word(&head, 0)) {
        return None;
    }
    let letters = at + before[usize::from(!is_ascii)];
    let bytes = read(memory, letters, length * u64::from(kind))?;
    let letter = |bytes: &[u8]| {
        let bytes = bytes.iter().rev();
        char::from_u32(bytes.fold(0, |letter, &byte| letter << 8 | u32::from(byte)))
    };
    bytes.chunks_exact(kind as usize).map(letter).collect()
}
