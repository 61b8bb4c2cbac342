//! Reading a file that somebody else may be writing to.

use std::{
    fs::{File, Metadata},
    io::{ErrorKind, Read, Seek as _, SeekFrom},
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
};

use notekeeper_domain::{Version, char_prefix, char_suffix};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};
use sha2::{Digest as _, Sha256};

use super::{fault::Fault, place::Place};
use crate::{CONTENT_BYTES_MAX, OddNote};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// Largest file that is read as a whole, in bytes: no operation writes a larger one.
const BYTES_MAX: u64 = CONTENT_BYTES_MAX as u64;

/// Most reads of a file that changes while it is read.
const READS_MAX: usize = 4;

/// Hexadecimal digits of a version.
const VERSION_DIGITS: usize = 24;

/// What tells a text from every other that was here, whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) sha256: Vec<u8>,
    pub(super) stamp: Stamp,
}

/// What the file system says of a file without reading it. Every write changes it: the time of
/// change can't be set by programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) inode: i64,
    pub(super) bytes: i64,
    /// Nanoseconds since 1970.
    pub(super) modified: i64,
    /// Nanoseconds since 1970.
    pub(super) changed: i64,
}

/// A part of a text, and what is known of the whole.
#[derive(Debug)]
pub(super) struct Text {
    /// The first characters.
    pub(super) prefix: String,
    /// Whether there are more.
    pub(super) truncated: bool,
    /// Characters of the whole.
    pub(super) chars: usize,
    pub(super) state: State,
    /// Permission bits.
    pub(super) mode: u32,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.wrapping_mul(1_000_000_000) + rest;
        Self {
            // Only ever compared, so a number that wraps is as good.
            inode: metadata.ino().cast_signed(),
            bytes: metadata.size().cast_signed(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl State {
    /// The version of a text that another program wrote. It follows from the state alone, so that
    /// all who read it find the same one, and nobody has to write it down.
    pub(super) fn version(&self) -> Version {
        let mut hash = Sha256::new();
        hash.update(&self.sha256);
        for number in [
            self.stamp.inode,
            self.stamp.bytes,
            self.stamp.modified,
            self.stamp.changed,
        ] {
            hash.update(number.to_le_bytes());
        }
        let digest = hash.finalize();
        let mut digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.truncate(VERSION_DIGITS);
        // Those of the store's own writes are random digits without a letter before them.
        Version::new(format!("x{digits}"))
    }
}

/// A version for a write of the store's own. Random, so that none comes back, not even where the
/// journal is lost or an old one restored.
pub(super) fn new_version() -> String {
    let mut digits = format!("{:032x}", rand::random::<u128>());
    digits.truncate(VERSION_DIGITS);
    digits
}

/// Opens what is in a place for reading; `None` where there is no file. Nothing but a regular file
/// is ever opened: a pipe would wait for its other end, and a device may do anything.
fn open_file(directory: &OwnedFd, name: &str) -> Result<Option<(File, Metadata)>, Fault> {
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        // A nested scope, most likely. It is no note.
        FileType::Directory => return Ok(None),
        _ => return Err(OddNote::NoFile.into()),
    }
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(directory, name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(OddNote::NoFile.into());
    }
    Ok(Some((file, metadata)))
}

/// What the file system says of the file that is here now; `None` where there is none.
pub(super) fn stamp(place: &Place) -> Result<Option<Stamp>, Fault> {
    let opened = open_file(&place.directory, &place.name)?;
    Ok(opened.map(|(_, metadata)| Stamp::of(&metadata)))
}

/// When the file was written last, in whole seconds since 1970.
pub(super) fn seconds(stamp: &Stamp) -> i64 {
    stamp.modified.div_euclid(1_000_000_000)
}

/// The first characters of a text, and the state of the whole. Memory is bounded by the characters
/// that are asked for, however large the file is.
///
/// A file that another program doesn't leave in peace long enough is in progress: parts of two texts
/// are no text.
pub(super) fn read(
    directory: &OwnedFd,
    name: &str,
    chars_max: usize,
) -> Result<Option<Text>, Fault> {
    for _ in 0..READS_MAX {
        let Some((mut file, metadata)) = open_file(directory, name)? else {
            return Ok(None);
        };
        if metadata.size() > BYTES_MAX {
            return Err(OddNote::TooLarge.into());
        }
        let before = Stamp::of(&metadata);
        // What is added meanwhile isn't waited for.
        let whole = Whole::read(&mut (&mut file).take(BYTES_MAX), chars_max);
        let after = Stamp::of(&file.metadata()?);
        if before != after {
            continue;
        }
        let whole = whole?;
        return Ok(Some(Text {
            truncated: whole.chars > whole.prefix_chars,
            prefix: whole.prefix,
            chars: whole.chars,
            state: State {
                sha256: whole.hash.finalize().to_vec(),
                stamp: after,
            },
            mode: metadata.mode() & 0o7777,
        }));
    }
    Err(Fault::InProgress)
}

/// What was read of a text so far.
struct Whole {
    hash: Sha256,
    chars: usize,
    prefix: String,
    prefix_chars: usize,
}

impl Whole {
    fn read(file: &mut impl Read, chars_max: usize) -> Result<Self, Fault> {
        let mut whole = Self {
            hash: Sha256::new(),
            chars: 0,
            prefix: String::new(),
            prefix_chars: 0,
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        // Bytes of a character that the chunk before ended in.
        let mut carried = 0;
        loop {
            let read = match file.read(&mut chunk[carried..]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            whole.hash.update(&chunk[carried..carried + read]);
            let filled = carried + read;
            let valid = match str::from_utf8(&chunk[..filled]) {
                Ok(_) => filled,
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                Err(_) => return Err(OddNote::NoText.into()),
            };
            let text = str::from_utf8(&chunk[..valid]).map_err(|_| OddNote::NoText)?;
            whole.take(text, chars_max)?;
            chunk.copy_within(valid..filled, 0);
            carried = filled - valid;
        }
        if carried > 0 {
            return Err(OddNote::NoText.into());
        }
        Ok(whole)
    }

    fn take(&mut self, text: &str, chars_max: usize) -> Result<(), Fault> {
        if text.contains('\0') {
            return Err(OddNote::NoText.into());
        }
        let chars = text.chars().count();
        let room = chars_max - self.prefix_chars;
        self.prefix.push_str(char_prefix(text, room).0);
        self.prefix_chars += chars.min(room);
        self.chars += chars;
        Ok(())
    }
}

/// The first characters of a text, and whether they are a part of it. Only they are read.
pub(super) fn read_head(place: &Place, chars_max: usize) -> Result<Option<(String, bool)>, Fault> {
    let Some((file, metadata)) = open_file(&place.directory, &place.name)? else {
        return Ok(None);
    };
    let bytes_max = bytes_of(chars_max);
    let mut head = Vec::new();
    file.take(bytes_max).read_to_end(&mut head)?;
    let valid = match str::from_utf8(&head) {
        Ok(text) => text,
        // The bound, or somebody who writes right now, cut a character.
        Err(error) if error.error_len().is_none() && metadata.size() > bytes_max => {
            str::from_utf8(&head[..error.valid_up_to()]).map_err(|_| OddNote::NoText)?
        }
        Err(_) => return Err(OddNote::NoText.into()),
    };
    if valid.contains('\0') {
        return Err(OddNote::NoText.into());
    }
    let (text, cut) = char_prefix(valid, chars_max);
    Ok(Some((text.to_owned(), cut || metadata.size() > bytes_max)))
}

/// The last characters of a text, and whether they are a part of it. Only they are read.
pub(super) fn read_tail(place: &Place, chars_max: usize) -> Result<Option<(String, bool)>, Fault> {
    let Some((mut file, metadata)) = open_file(&place.directory, &place.name)? else {
        return Ok(None);
    };
    let bytes_max = bytes_of(chars_max);
    let skipped = metadata.size().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(skipped))?;
    let mut tail = Vec::new();
    // What is added meanwhile isn't waited for.
    file.take(bytes_max.min(metadata.size()))
        .read_to_end(&mut tail)?;
    let start = match skipped {
        0 => 0,
        // In the middle of a character, perhaps.
        _ => tail
            .iter()
            .take_while(|byte| (**byte & 0xc0) == 0x80)
            .count()
            .min(3),
    };
    let text = str::from_utf8(&tail[start..]).map_err(|_| OddNote::NoText)?;
    if text.contains('\0') {
        return Err(OddNote::NoText.into());
    }
    let (text, cut) = char_suffix(text, chars_max);
    Ok(Some((text.to_owned(), cut || skipped > 0)))
}

/// Most bytes of so many characters: none has more than four.
fn bytes_of(chars: usize) -> u64 {
    u64::try_from(chars).unwrap_or(u64::MAX).saturating_mul(4)
}
