//! The functions of a file, and how their frames are left: the section `.eh_frame`.

use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, FrameDescriptionEntry,
    LittleEndian, UnwindSection,
};

/// The table of a module: its functions, by address.
pub(crate) struct Table {
    address: u64,
    bytes: Vec<u8>,
    /// Where a function is, and its entry in the section.
    functions: Vec<(Range<u64>, usize)>,
}

type Bytes<'b> = EndianSlice<'b, LittleEndian>;

impl Table {
    /// Reads the section `.eh_frame`.
    pub(crate) fn read(address: u64, bytes: Vec<u8>) -> Table {
        let mut table = Table {
            address,
            bytes,
            functions: Vec::new(),
        };
        let (section, bases) = table.section();
        let mut functions = Vec::new();
        let mut entries = section.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            if let CieOrFde::Fde(entry) = entry
                && let Ok(entry) = entry.parse(EhFrame::cie_from_offset)
                && entry.len() > 0
            {
                functions.push((entry.initial_address()..entry.end_address(), entry.offset()));
            }
        }
        functions.sort_unstable_by_key(|function| function.0.start);
        table.functions = functions;
        table
    }

    pub(crate) fn section(&self) -> (EhFrame<Bytes<'_>>, BaseAddresses) {
        let mut section = EhFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        (section, BaseAddresses::default().set_eh_frame(self.address))
    }

    fn entry(&self, address: u64) -> Option<&(Range<u64>, usize)> {
        let after = self
            .functions
            .partition_point(|function| function.0.start <= address);
        let entry = &self.functions[after.checked_sub(1)?];
        entry.0.contains(&address).then_some(entry)
    }

    /// The function, or the part of one, that has an address.
    pub(crate) fn function(&self, address: u64) -> Option<Range<u64>> {
        self.entry(address).map(|entry| entry.0.clone())
    }

    pub(crate) fn description(&self, address: u64) -> Option<FrameDescriptionEntry<Bytes<'_>>> {
        let (section, bases) = self.section();
        section
            .fde_from_offset(
                &bases,
                EhFrameOffset(self.entry(address)?.1),
                EhFrame::cie_from_offset,
            )
            .ok()
    }
}
