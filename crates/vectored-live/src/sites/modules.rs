//! The programs and libraries that a process has mapped to run them.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::rc::Rc;

use object::elf::{
    DT_NEEDED, DT_SONAME, FileHeader64, PF_X, PT_DYNAMIC, PT_INTERP, PT_LOAD, ProgramHeader64,
    R_X86_64_RELATIVE, SHN_UNDEF, SHT_DYNSYM, Sym64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Rela, SectionHeader, SectionTable, Sym};
use object::{LittleEndian, ReadCache};
use rustc_hash::FxHashMap;

use crate::sites::table::Table;

type Header = FileHeader64<LittleEndian>;
/// Parts of a file, and their addresses.
type Segments = Vec<(Range<u64>, u64)>;

type Data<'d> = &'d ReadCache<&'d File>;

/// Files that are kept open. Frames in others are unknown.
const FILES_MAX: usize = 400;

/// Whose code a module has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The C library, the loader or the runtime of a language: they make calls for others.
    Runtime,
    /// A program with a C library in it.
    Static,
    /// It may have the library of its language in it, and has no symbols of that: an address says nothing.
    Hidden,
    Other,
}

/// A file that is mapped. Addresses are the file's.
pub(crate) struct Module {
    /// Its path in the process.
    pub(crate) path: String,
    pub(crate) owner: Owner,
    /// It is read, not its path: another file may be there by now.
    file: File,
    /// Executable segments: where they are in the file, and their address.
    segments: Segments,
    /// Jumps to functions of other modules.
    jumps: Vec<Range<u64>>,
    table: OnceCell<Option<Table>>,
}

/// Where a slot of a module's table of addresses leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A function of this name, in another module or in this one.
    Named(Vec<u8>),
    /// This address of the module.
    At(u64),
}

impl Module {
    fn read(path: &str, file: File) -> Option<Module> {
        let mut module = Module {
            path: path.to_owned(),
            owner: Owner::Other,
            file,
            segments: Vec::new(),
            jumps: Vec::new(),
            table: OnceCell::new(),
        };
        (module.segments, module.owner) = module.segments()?;
        (module.jumps, module.owner) = module.with_sections(|endian, data, sections| {
            let has = |name: &[u8]| sections.section_by_name(endian, name).is_some();
            let holds = |text: &[u8]| {
                let read_only = sections
                    .section_by_name(endian, b".rodata")
                    .and_then(|(_, section)| section.data(endian, data).ok());
                read_only.is_some_and(|bytes| memchr::memmem::find(bytes, text).is_some())
            };
            let mut jumps = Vec::new();
            for section in sections.iter() {
                if sections
                    .section_name(endian, section)
                    .is_ok_and(|name| name.starts_with(b".plt"))
                {
                    let from = section.sh_addr(endian);
                    jumps.push(from..from.checked_add(section.sh_size(endian))?);
                }
            }
            // Lines of Go are not read.
            let is_go = has(b".gopclntab") || has(b".go.buildinfo");
            let is_hidden = |owner| {
                owner == Owner::Other
                    && !has(b".symtab")
                    && (holds(b"/rustc/") || holds(b"St9exception"))
            };
            let owner = match module.owner {
                _ if is_go || is_of_runtime(path.as_bytes()) => Owner::Runtime,
                owner if is_hidden(owner) => Owner::Hidden,
                owner => owner,
            };
            Some((jumps, owner))
        })?;
        Some(module)
    }

    /// The executable segments, and whether the C library is in the file.
    fn segments(&self) -> Option<(Segments, Owner)> {
        let data = ReadCache::new(&self.file);
        let header = Header::parse(&data).ok()?;
        let endian = header.endian().ok()?;
        let (mut segments, mut owner) = (Vec::new(), Owner::Static);
        for segment in header.program_headers(endian, &data).ok()? {
            let (at, bytes) = segment.file_range(endian);
            match segment.p_type(endian) {
                PT_LOAD if segment.p_flags(endian) & PF_X != 0 => {
                    segments.push((at..at.checked_add(bytes)?, segment.p_vaddr(endian)));
                }
                PT_INTERP => owner = Owner::Other,
                PT_DYNAMIC => {
                    let entries = segment.dynamic(endian, &data).ok()??;
                    if entries
                        .iter()
                        .any(|entry| [DT_NEEDED, DT_SONAME].contains(&entry.tag(endian)))
                    {
                        owner = Owner::Other;
                    }
                }
                _ => {}
            }
        }
        Some((segments, owner))
    }

    /// A path of the file itself.
    pub(crate) fn own_path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// The address of a place in the file, if it is code.
    fn address(&self, at: u64) -> Option<u64> {
        let (file, address) = self.segments.iter().find(|(file, _)| file.contains(&at))?;
        Some(address + (at - file.start))
    }

    /// Whether a jump to another module is there.
    pub(crate) fn is_jump(&self, address: u64) -> bool {
        self.jumps.iter().any(|jumps| jumps.contains(&address))
    }

    /// How its frames are left.
    pub(crate) fn table(&self) -> Option<&Table> {
        let read = || {
            self.with_sections(|endian, data, sections| {
                let (_, section) = sections.section_by_name(endian, b".eh_frame")?;
                let bytes = section.data(endian, data).ok()?;
                Some(Table::read(section.sh_addr(endian), bytes.to_vec()))
            })
        };
        self.table.get_or_init(read).as_ref()
    }

    fn with_sections<T>(
        &self,
        f: impl for<'d> FnOnce(LittleEndian, Data<'d>, &SectionTable<'d, Header, Data<'d>>) -> Option<T>,
    ) -> Option<T> {
        let cache = ReadCache::new(&self.file);
        let header = Header::parse(&cache).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, &cache).ok()?;
        f(endian, &cache, &sections)
    }

    /// What the loader writes into a slot.
    pub(crate) fn slot(&self, address: u64) -> Option<Slot> {
        self.with_sections(|endian, data, sections| {
            let symbols = sections.symbols(endian, data, SHT_DYNSYM).ok()?;
            for section in sections.iter() {
                let Ok(Some((relocations, _))) = section.rela(endian, data) else {
                    continue;
                };
                let Some(one) = relocations
                    .iter()
                    .find(|one| one.r_offset(endian) == address)
                else {
                    continue;
                };
                if one.r_type(endian, false) == R_X86_64_RELATIVE {
                    return u64::try_from(one.r_addend(endian)).ok().map(Slot::At);
                }
                let symbol = symbols.symbol(one.symbol(endian, false)?).ok()?;
                return Some(Slot::Named(
                    symbol.name(endian, symbols.strings()).ok()?.to_vec(),
                ));
            }
            None
        })
    }

    /// The address of a function, or of a variable, that it gives to others.
    pub(crate) fn function(&self, name: &[u8]) -> Option<u64> {
        self.with_sections(|endian, data, sections| {
            let section = sections
                .iter()
                .find(|section| section.sh_type(endian) == SHT_DYNSYM)?;
            let symbols: &[Sym64<LittleEndian>] = section.data_as_array(endian, data).ok()?;
            let strings = sections
                .section(section.link(endian))
                .ok()?
                .data(endian, data)
                .ok()?;
            let has_name = |symbol: &Sym64<LittleEndian>| {
                let own = strings.get(symbol.st_name(endian) as usize..);
                own.and_then(|own| own.strip_prefix(name))
                    .is_some_and(|rest| rest.first() == Some(&0))
            };
            let is_it = |symbol: &&Sym64<LittleEndian>| {
                symbol.st_shndx(endian) != SHN_UNDEF && has_name(symbol)
            };
            symbols
                .iter()
                .find(is_it)
                .map(|symbol| symbol.st_value(endian))
        })
    }

    /// The address of a symbol or of a section, in a file that may be stripped.
    pub(crate) fn place(&self, symbol: &[u8], section: &[u8]) -> Option<u64> {
        self.function(symbol).or_else(|| {
            self.with_sections(|endian, _, sections| {
                Some(sections.section_by_name(endian, section)?.1.sh_addr(endian))
            })
        })
    }

    /// Bytes of its code and data.
    pub(crate) fn data(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        let data = ReadCache::new(&self.file);
        let header = Header::parse(&data).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, &data).ok()?;
        let has = |segment: &&ProgramHeader64<LittleEndian>| {
            let from = segment.p_vaddr(endian);
            segment.p_type(endian) == PT_LOAD
                && (from..from.saturating_add(segment.p_filesz(endian))).contains(&address)
        };
        let segment = segments.iter().find(has)?;
        self.file
            .read_exact_at(
                bytes,
                segment.p_offset(endian) + (address - segment.p_vaddr(endian)),
            )
            .ok()
    }
}

/// Whether a file is a library that makes calls for others.
fn is_of_runtime(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let known: [&[u8]; 14] = [
        b"libc.so",
        b"libc-2",
        b"libc.musl",
        b"ld-",
        b"libpthread",
        b"libdl",
        b"librt.",
        b"libstdc++.so",
        b"libc++",
        b"libgcc_s",
        b"libstd-",
        b"libasan.",
        b"libtsan.",
        b"libubsan.",
    ];
    known.iter().any(|known| name.starts_with(known))
}

impl Module {
    /// Where a segment is, if its code begins at an address of memory; without a place in the file, the first one.
    fn mapped(self: &Rc<Module>, memory: u64, at: Option<u64>) -> Option<Mapped> {
        const PAGE: u64 = 4096;
        let (file, _) = self
            .segments
            .iter()
            .find(|(file, _)| at.is_none_or(|at| file.start & !(PAGE - 1) == at))?;
        // The kernel tells where the first code is, and a mapping begins with its page.
        let from = at.unwrap_or(file.start);
        Some(Mapped {
            memory: memory..memory + (file.end - from),
            at: from,
            module: Rc::clone(self),
        })
    }
}

/// A range of memory with code of a module.
#[derive(Clone)]
pub(crate) struct Mapped {
    memory: Range<u64>,
    /// Where it begins in the file.
    at: u64,
    module: Rc<Module>,
}

/// A device, a path and an inode.
type Key = (u64, String, u64);

/// The modules of all processes, each file once.
#[derive(Default)]
pub(crate) struct Modules {
    files: FxHashMap<Key, Option<Rc<Module>>>,
}

impl Modules {
    /// The file that has a path here; with a number, only if it is that file.
    pub(crate) fn at_path(&mut self, path: &str, inode: Option<u64>) -> Option<Rc<Module>> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| {
            metadata.is_file() && inode.is_none_or(|inode| inode == metadata.ino())
        })?;
        let path = fs::canonicalize(path).ok()?.to_str()?.to_owned();
        self.module((metadata.dev(), path, metadata.ino()), || Some(file))
    }

    /// A module, which is read once.
    fn module(&mut self, key: Key, open: impl FnOnce() -> Option<File>) -> Option<Rc<Module>> {
        if let Some(known) = self.files.get(&key) {
            return known.clone();
        }
        if self.files.len() >= FILES_MAX {
            return None;
        }
        let module = Module::read(&key.1, open()?).map(Rc::new);
        self.files.insert(key, module.clone());
        module
    }
}

/// What a process has mapped.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub(crate) mapped: Vec<Mapped>,
    /// Whether paths of the process are paths here, by its program: what it maps is then known even if it has ended.
    is_here: bool,
    /// Libraries that it opened last.
    opened: Vec<(i32, String)>,
}

/// Libraries that are remembered between their opening and their mapping.
const OPENED_MAX: usize = 4;

impl Program {
    /// A program that begins: `code` is where its first code is in memory, and `inode` the number of its file.
    pub(crate) fn start(path: &[u8], code: u64, inode: u64, modules: &mut Modules) -> Program {
        let module = str::from_utf8(path)
            .ok()
            .and_then(|path| modules.at_path(path, Some(inode)));
        let mapped = module
            .iter()
            .filter_map(|module| module.mapped(code, None))
            .collect();
        Program {
            mapped,
            is_here: module.is_some(),
            opened: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, descriptor: i32, path: &[u8]) {
        if let Ok(path) = str::from_utf8(path)
            && self.is_here
            && path.starts_with('/')
        {
            self.opened.retain(|opened| opened.0 != descriptor);
            if self.opened.len() == OPENED_MAX {
                self.opened.remove(0);
            }
            self.opened.push((descriptor, path.to_owned()));
        }
    }

    /// A part of a file was mapped at an address to run it.
    pub(crate) fn map(&mut self, descriptor: i32, memory: u64, at: u64, modules: &mut Modules) {
        let opened = self.opened.iter().find(|opened| opened.0 == descriptor);
        let module = opened.and_then(|opened| modules.at_path(&opened.1, None));
        if let Some(new) = module.and_then(|module| module.mapped(memory, Some(at))) {
            self.mapped.retain(|known| {
                known.memory.end <= new.memory.start || new.memory.end <= known.memory.start
            });
            self.mapped.push(new);
        }
    }

    /// The module with the code at an address of memory, and the address in the module.
    pub(crate) fn find(&self, address: u64) -> Option<(&Rc<Module>, u64)> {
        let mapped = self
            .mapped
            .iter()
            .find(|mapped| mapped.memory.contains(&address))?;
        Some((
            &mapped.module,
            mapped
                .module
                .address(mapped.at + (address - mapped.memory.start))?,
        ))
    }

    /// All modules, and what is to be added to their addresses.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&Rc<Module>, u64)> {
        self.mapped.iter().filter_map(|mapped| {
            Some((
                &mapped.module,
                mapped
                    .memory
                    .start
                    .wrapping_sub(mapped.module.address(mapped.at)?),
            ))
        })
    }
}

/// What a process has mapped now; `None` if it has ended.
pub(crate) fn mapped_now(process: u32, modules: &mut Modules) -> Option<Vec<Mapped>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))
        .ok()
        .filter(|maps| !maps.is_empty())?;
    Some(
        maps.lines()
            .filter_map(|line| mapped(process, line, modules))
            .collect(),
    )
}

/// Reads a line of `/proc/PID/maps`.
fn mapped(process: u32, line: &str, modules: &mut Modules) -> Option<Mapped> {
    let mut words = line.splitn(6, ' ');
    let (range, rights, at, device, inode) = (
        words.next()?,
        words.next()?,
        words.next()?,
        words.next()?,
        words.next()?,
    );
    let path = words.next()?.trim_start();
    if !rights.contains('x') || !path.starts_with('/') {
        return None;
    }
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (from, to) = range.split_once('-')?;
    let inode = inode.parse().ok()?;
    let (major, minor) = device.split_once(':')?;
    let key = (
        rustix::fs::makedev(number(major)? as u32, number(minor)? as u32),
        path.to_owned(),
        inode,
    );
    let module = modules.module(key, || open(process, range, path, inode));
    Some(Mapped {
        memory: number(from)?..number(to)?,
        at: number(at)?,
        module: module?,
    })
}

/// Opens the file that is mapped: itself, or what has its path if that is still the same file.
fn open(process: u32, range: &str, path: &str, inode: u64) -> Option<File> {
    let is_it = |file: &File| {
        file.metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.ino() == inode)
    };
    let itself = File::open(Path::new(&format!("/proc/{process}/map_files")).join(range));
    let by_path = || File::open(format!("/proc/{process}/root{path}"));
    itself.or_else(|_| by_path()).ok().filter(is_it)
}
