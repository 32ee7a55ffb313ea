//! The programs and libraries that a process has mapped to run them.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use object::elf::{
    DT_NEEDED, DT_SONAME, FileHeader64, PF_X, PT_LOAD, ProgramHeader64, R_X86_64_RELATIVE,
    SHN_UNDEF, SHT_DYNSYM, SectionHeader64, Sym64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Rela, SectionHeader, SectionTable, Sym};
use object::{LittleEndian, ReadCache};
use rustc_hash::FxHashMap;

use crate::sites::table::Table;

type Data<'d> = &'d ReadCache<&'d File>;
type Header = FileHeader64<LittleEndian>;

/// A file of a program or of a library.
struct Elf<'d> {
    header: &'d Header,
    sections: SectionTable<'d, Header, Data<'d>>,
    data: Data<'d>,
}

const ENDIAN: LittleEndian = LittleEndian;

impl<'d> Elf<'d> {
    fn segments(&self) -> &'d [ProgramHeader64<LittleEndian>] {
        let segments = self.header.program_headers(ENDIAN, self.data);
        segments.unwrap_or_default()
    }

    fn section(&self, name: &[u8]) -> Option<&'d SectionHeader64<LittleEndian>> {
        Some(self.sections.section_by_name(ENDIAN, name)?.1)
    }

    fn bytes(&self, section: &[u8]) -> Option<&'d [u8]> {
        self.section(section)?.data(ENDIAN, self.data).ok()
    }

    /// Whether the C library is in the file.
    fn is_static(&self) -> bool {
        let dynamic = self
            .segments()
            .iter()
            .filter_map(|segment| segment.dynamic(ENDIAN, self.data).ok().flatten());
        let mut tags = dynamic.flatten().map(|entry| entry.tag(ENDIAN));
        !tags.any(|tag| [DT_NEEDED, DT_SONAME].contains(&tag))
    }

    fn owner(&self, path: &str) -> Owner {
        let has = |name| self.section(name).is_some();
        let texts = self.bytes(b".rodata").unwrap_or_default();
        let holds = |text| memchr::memmem::find(texts, text).is_some();
        // Lines of Go are not read.
        let is_go = has(b".gopclntab") || has(b".go.buildinfo");
        if is_go || is_of_runtime(path.as_bytes()) {
            Owner::Runtime
        } else if self.is_static() {
            Owner::Static
        } else if !has(b".symtab") && (holds(b"/rustc/") || holds(b"St9exception")) {
            Owner::Hidden
        } else {
            Owner::Other
        }
    }
}

fn with_elf<T>(file: &File, f: impl for<'d> FnOnce(&Elf<'d>) -> Option<T>) -> Option<T> {
    let cache = ReadCache::new(file);
    let header = Header::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, &cache).ok()?;
    let data = &cache;
    f(&Elf {
        header,
        sections,
        data,
    })
}

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
    /// The open file is read, not its path, which may lead to another file by now.
    file: File,
    /// Executable segments: where they are in the file, and their address.
    segments: Vec<(Range<u64>, u64)>,
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
        let (mut segments, mut jumps) = (Vec::new(), Vec::new());
        let owner = with_elf(&file, |elf| {
            for segment in elf.segments() {
                if segment.p_type(ENDIAN) == PT_LOAD && segment.p_flags(ENDIAN) & PF_X != 0 {
                    let (at, bytes) = segment.file_range(ENDIAN);
                    segments.push((at..at.checked_add(bytes)?, segment.p_vaddr(ENDIAN)));
                }
            }
            for section in elf.sections.iter() {
                let name = elf.sections.section_name(ENDIAN, section);
                if name.is_ok_and(|name| name.starts_with(b".plt")) {
                    let from = section.sh_addr(ENDIAN);
                    jumps.push(from..from.checked_add(section.sh_size(ENDIAN))?);
                }
            }
            Some(elf.owner(path))
        })?;
        Some(Module {
            path: path.to_owned(),
            owner,
            file,
            segments,
            jumps,
            table: OnceCell::new(),
        })
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
            with_elf(&self.file, |elf| {
                let address = elf.section(b".eh_frame")?.sh_addr(ENDIAN);
                Some(Table::read(address, elf.bytes(b".eh_frame")?.to_vec()))
            })
        };
        self.table.get_or_init(read).as_ref()
    }

    /// What the loader writes into a slot.
    pub(crate) fn slot(&self, address: u64) -> Option<Slot> {
        with_elf(&self.file, |elf| {
            let (sections, data) = (&elf.sections, elf.data);
            let symbols = sections.symbols(ENDIAN, data, SHT_DYNSYM).ok()?;
            let all = sections
                .iter()
                .filter_map(|section| section.rela(ENDIAN, data).ok()?);
            let mut relocations = all.flat_map(|(relocations, _)| relocations);
            let one = relocations.find(|one| one.r_offset(ENDIAN) == address)?;
            if one.r_type(ENDIAN, false) == R_X86_64_RELATIVE {
                return u64::try_from(one.r_addend(ENDIAN)).ok().map(Slot::At);
            }
            let symbol = symbols.symbol(one.symbol(ENDIAN, false)?).ok()?;
            let name = symbol.name(ENDIAN, symbols.strings()).ok()?;
            Some(Slot::Named(name.to_vec()))
        })
    }

    /// The address of a function, or of a variable, that it gives to others.
    pub(crate) fn function(&self, name: &[u8]) -> Option<u64> {
        with_elf(&self.file, |elf| {
            let is_dynamic = |section: &&SectionHeader64<_>| section.sh_type(ENDIAN) == SHT_DYNSYM;
            let section = elf.sections.iter().find(is_dynamic)?;
            let symbols: &[Sym64<LittleEndian>] = section.data_as_array(ENDIAN, elf.data).ok()?;
            let strings = elf.sections.section(section.link(ENDIAN)).ok()?;
            let strings = strings.data(ENDIAN, elf.data).ok()?;
            let is_it = |symbol: &&Sym64<LittleEndian>| {
                let own = strings.get(symbol.st_name(ENDIAN) as usize..);
                let rest = own.and_then(|own| own.strip_prefix(name));
                symbol.st_shndx(ENDIAN) != SHN_UNDEF
                    && rest.is_some_and(|rest| rest.first() == Some(&0))
            };
            Some(symbols.iter().find(is_it)?.st_value(ENDIAN))
        })
    }

    /// The address of a symbol or of a section, in a file that may be stripped.
    pub(crate) fn place(&self, symbol: &[u8], section: &[u8]) -> Option<u64> {
        let address = |elf: &Elf<'_>| Some(elf.section(section)?.sh_addr(ENDIAN));
        self.function(symbol)
            .or_else(|| with_elf(&self.file, address))
    }

    /// Bytes of its code and data.
    pub(crate) fn data(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        with_elf(&self.file, |elf| {
            let size = bytes.len() as u64;
            let mut parts = elf
                .segments()
                .iter()
                .filter_map(|segment| segment.data_range(ENDIAN, elf.data, address, size).ok()?);
            bytes.copy_from_slice(parts.next()?);
            Some(())
        })
    }
}

/// Whether a file is a library that makes calls for others.
fn is_of_runtime(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    const KNOWN: &str = "libc.so libc-2 libc.musl ld- libpthread libdl librt. libstdc++.so libc++ libgcc_s libstd- libasan. libtsan. libubsan.";
    KNOWN
        .split(' ')
        .any(|known| name.starts_with(known.as_bytes()))
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
