//! The programs and libraries whose code a process has mapped.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, FrameDescriptionEntry,
    UnwindSection,
};
use object::elf::{
    DT_NEEDED, DT_SONAME, FileHeader64, PF_X, PT_LOAD, ProgramHeader64, R_X86_64_RELATIVE,
    SHN_UNDEF, SHT_DYNSYM, SectionHeader64, Sym64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Rela, SectionHeader, SectionTable, Sym};
use object::{LittleEndian, ReadCache};
use rustc_hash::FxHashMap;
use rustix::fs::makedev;

type Data<'d> = &'d ReadCache<&'d File>;
type Header = FileHeader64<LittleEndian>;

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

    fn owner(&self, path: &str) -> Owner {
        let has = |name| self.section(name).is_some();
        let texts = self.bytes(b".rodata").unwrap_or_default();
        let holds = |text| memchr::memmem::find(texts, text).is_some();
        let dynamic = self.segments().iter();
        let dynamic = dynamic.filter_map(|one| one.dynamic(ENDIAN, self.data).ok().flatten());
        let mut tags = dynamic.flatten().map(|entry| entry.tag(ENDIAN));
        // Lines of Go programs are not read.
        if has(b".gopclntab") || has(b".go.buildinfo") || is_of_runtime(path) {
            Owner::Runtime
        } else if !tags.any(|tag| [DT_NEEDED, DT_SONAME].contains(&tag)) {
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

fn is_of_runtime(path: &str) -> bool {
    const KNOWN: &str = "libc.so libc-2 libc.musl ld- libpthread libdl librt. libstdc++.so libc++ libgcc_s libstd- libasan. libtsan. libubsan.";
    let name = path.rsplit('/').next().unwrap_or_default();
    KNOWN.split(' ').any(|known| name.starts_with(known))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The C library, the loader or the runtime of a language: these make calls for other code.
    Runtime,
    /// A program that contains a C library.
    Static,
    /// The module may contain the library of its language without the symbols of that library: an address tells nothing.
    Hidden,
    Other,
}

/// A file that is mapped. All addresses are addresses in the file.
pub(crate) struct Module {
    pub(crate) path: String,
    pub(crate) owner: Owner,
    /// The file is kept open, because its path may by now lead to another file.
    file: File,
    /// Executable segments: their ranges in the file, and their addresses.
    segments: Vec<(Range<u64>, u64)>,
    /// Ranges of stubs that jump to functions of other modules.
    jumps: Vec<Range<u64>>,
    table: OnceCell<Option<Table>>,
}

/// The functions of a file, and how to unwind their frames: the section `.eh_frame`.
pub(crate) struct Table {
    bytes: Vec<u8>,
    pub(crate) bases: BaseAddresses,
    /// The begin of each function, and the entry of the function in the section.
    functions: Vec<(u64, EhFrameOffset)>,
}

type Section<'b> = EhFrame<EndianSlice<'b, gimli::LittleEndian>>;

impl Table {
    fn read(elf: &Elf<'_>) -> Option<Table> {
        let address = elf.section(b".eh_frame")?.sh_addr(ENDIAN);
        let mut table = Table {
            bytes: elf.bytes(b".eh_frame")?.to_vec(),
            bases: BaseAddresses::default().set_eh_frame(address),
            functions: Vec::new(),
        };
        let mut functions = Vec::new();
        let section = table.section();
        let mut entries = section.entries(&table.bases);
        while let Ok(Some(entry)) = entries.next() {
            if let CieOrFde::Fde(entry) = entry
                && let Ok(entry) = entry.parse(EhFrame::cie_from_offset)
                && entry.len() > 0
            {
                functions.push((entry.initial_address(), EhFrameOffset(entry.offset())));
            }
        }
        functions.sort_unstable_by_key(|function| function.0);
        table.functions = functions;
        Some(table)
    }

    pub(crate) fn section(&self) -> Section<'_> {
        let mut section = EhFrame::new(&self.bytes, gimli::LittleEndian);
        section.set_address_size(8);
        section
    }

    /// The function, or the part of a function, at an address.
    pub(crate) fn function(
        &self,
        address: u64,
    ) -> Option<FrameDescriptionEntry<EndianSlice<'_, gimli::LittleEndian>>> {
        let after = self.functions.partition_point(|one| one.0 <= address);
        let at = self.functions[after.checked_sub(1)?].1;
        let cie = EhFrame::cie_from_offset;
        let entry = self.section().fde_from_offset(&self.bases, at, cie);
        entry.ok().filter(|entry| entry.contains(address))
    }
}

/// Where a slot of a module's table of addresses leads to.
pub(crate) enum Slot {
    /// A function of this name, in this module or another.
    Named(Vec<u8>),
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

    pub(crate) fn own_path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// The address of the code that is mapped from a page of the file, and the number of bytes of this code.
    fn code_at(&self, page: u64) -> Option<(u64, u64)> {
        let is_its = |file: &Range<u64>| (file.start & !4095..file.end).contains(&page);
        let (file, address) = self.segments.iter().find(|(file, _)| is_its(file))?;
        let address = address.wrapping_add(page).wrapping_sub(file.start);
        Some((address, file.end - page))
    }

    pub(crate) fn is_jump(&self, address: u64) -> bool {
        self.jumps.iter().any(|jumps| jumps.contains(&address))
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        let read = || with_elf(&self.file, Table::read);
        self.table.get_or_init(read).as_ref()
    }

    /// What the loader writes into a slot of the table of addresses.
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

    /// The address of a function, or of a variable, that the module exports.
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

    pub(crate) fn data(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        with_elf(&self.file, |elf| {
            let mut parts = elf.segments().iter().filter_map(|segment| {
                let data = segment.data_range(ENDIAN, elf.data, address, size);
                data.ok().flatten()
            });
            Some(parts.next()?.to_vec())
        })
    }
}

/// A range of memory with code of a module. An address in the module plus `base` is the address in memory.
#[derive(Clone)]
struct Mapped {
    memory: Range<u64>,
    base: u64,
    module: Rc<Module>,
}

#[derive(Clone, Default)]
pub(crate) struct Program {
    mapped: Vec<Mapped>,
    /// The library that the process opened last. Used if the process ends before its mappings are read.
    pub(crate) opened: Option<(i32, String)>,
}

impl Program {
    /// The module with the code at an address of memory, and the address in the module.
    pub(crate) fn find(&self, address: u64) -> Option<(&Rc<Module>, u64)> {
        let mut all = self.mapped.iter();
        let mapped = all.find(|mapped| mapped.memory.contains(&address))?;
        Some((&mapped.module, address.wrapping_sub(mapped.base)))
    }

    /// All modules, each with the number to add to its addresses.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&Rc<Module>, u64)> {
        self.mapped
            .iter()
            .map(|mapped| (&mapped.module, mapped.base))
    }

    /// Adds code of a module, perhaps in place of other code.
    fn add(&mut self, module: Rc<Module>, memory: Range<u64>, address: u64) {
        self.mapped
            .retain(|known| known.memory.end <= memory.start || memory.end <= known.memory.start);
        self.mapped.push(Mapped {
            base: memory.start.wrapping_sub(address),
            memory,
            module,
        });
    }
}

/// The most files that are kept open. Frames in further files are unknown.
const FILES_MAX: usize = 400;

/// The modules of all processes, by the device, inode and path of the file. Each file is read once.
#[derive(Default)]
pub(crate) struct Modules(FxHashMap<(u64, u64, String), Option<Rc<Module>>>);

impl Modules {
    /// The mappings of a program that begins. `code` is the address of the program's first code in memory, `inode`
    /// the inode of the program's file.
    pub(crate) fn begin(&mut self, path: &[u8], code: u64, inode: u64) -> Program {
        let mut program = Program::default();
        if let Some(module) = self.at_path(path, Some(inode))
            && let Some((file, address)) = module.segments.first()
        {
            let (memory, address) = (code..code + (file.end - file.start), *address);
            program.add(module, memory, address);
        }
        program
    }

    pub(crate) fn map(&mut self, program: &mut Program, descriptor: i32, memory: u64, page: u64) {
        let opened = program
            .opened
            .as_ref()
            .filter(|opened| opened.0 == descriptor);
        if let Some(module) = opened.and_then(|(_, path)| self.at_path(path.as_bytes(), None))
            && let Some((address, bytes)) = module.code_at(page)
        {
            program.add(module, memory..memory + bytes, address);
        }
    }

    /// The current mappings of a process. `None` if the process has ended.
    pub(crate) fn now(&mut self, process: u32) -> Option<Program> {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok();
        let maps = maps.filter(|maps| !maps.is_empty())?;
        let mut program = Program::default();
        for line in maps.lines() {
            if let Some((module, memory, address)) = self.mapped(process, line) {
                program.add(module, memory, address);
            }
        }
        Some(program)
    }

    fn mapped(&mut self, process: u32, line: &str) -> Option<(Rc<Module>, Range<u64>, u64)> {
        let mut words = line.splitn(6, ' ');
        let mut next = || words.next();
        let (range, rights, page, device, inode) = (next()?, next()?, next()?, next()?, next()?);
        let path = next()?.trim_start();
        if !rights.contains('x') || !path.starts_with('/') {
            return None;
        }
        let number = |text| u64::from_str_radix(text, 16).ok();
        let ((from, to), (major, minor)) = (range.split_once('-')?, device.split_once(':')?);
        let device = makedev(number(major)? as u32, number(minor)? as u32);
        let itself = || File::open(format!("/proc/{process}/map_files/{range}")).ok();
        let by_path = || File::open(format!("/proc/{process}/root{path}")).ok();
        let module = self.module((device, inode.parse().ok()?, path), || {
            itself().or_else(by_path)
        })?;
        let (address, _) = module.code_at(number(page)?)?;
        Some((module, number(from)?..number(to)?, address))
    }

    /// The module of the file at a path. If `inode` is given, the file must have that inode.
    fn at_path(&mut self, path: &[u8], inode: Option<u64>) -> Option<Rc<Module>> {
        let path = fs::canonicalize(OsStr::from_bytes(path)).ok()?;
        let metadata = fs::metadata(&path).ok()?;
        let is_it = inode.is_none_or(|inode| inode == metadata.ino());
        let key = (metadata.dev(), metadata.ino(), path.to_str()?);
        is_it.then(|| self.module(key, || File::open(&path).ok()))?
    }

    /// The module of a file, which is read once. The file that `open` returns must have this inode.
    fn module(
        &mut self,
        (device, inode, path): (u64, u64, &str),
        open: impl FnOnce() -> Option<File>,
    ) -> Option<Rc<Module>> {
        let key = (device, inode, path.to_owned());
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        if self.0.len() >= FILES_MAX {
            return None;
        }
        let file = open().filter(|file| {
            let metadata = file.metadata();
            metadata.is_ok_and(|metadata| metadata.is_file() && metadata.ino() == inode)
        });
        let module = file.and_then(|file| Module::read(path, file)).map(Rc::new);
        self.0.insert(key, module.clone());
        module
    }
}
