//! Passages: a Markdown text cut where its author made a cut.

use crate::{char_prefix, is_space, trim_end_space};

/// Longest passage, in characters: about what models of embeddings read of a text, and few enough that
/// several fit into a prompt.
pub const PASSAGE_CHARS_MAX: usize = 1_000;

/// A passage that has as many characters takes no more paragraphs.
const FULL_CHARS: usize = 700;

/// A passage with fewer characters goes on across a heading: a heading alone, or a line or two, says little
/// by itself.
const SMALL_CHARS: usize = 200;

/// What a part of a cut paragraph repeats of the part before, in characters at most, so that a sentence
/// across the cut is found.
const OVERLAP_CHARS: usize = 80;

/// Of a longer heading so many characters from the front stand above passages.
const HEADING_CHARS_MAX: usize = 120;

/// Headings above a passage have so many characters together: where they have more, outer ones are left
/// out.
const HEADINGS_CHARS_MAX: usize = 300;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage<'t> {
    /// The part, without white space at its ends.
    pub text: &'t str,
    /// The headings that it stands under where it begins, outermost first: of each 120 characters at most,
    /// and the innermost of them that have 300 together.
    pub headings: Vec<&'t str>,
}

/// The passages of a Markdown text, in order: paragraphs that belong together, of [`PASSAGE_CHARS_MAX`]
/// characters at most. A heading begins a new one, unless the one before is short. A paragraph that is
/// too long is cut at the end of a line, of a sentence or of a word, and the next part repeats a few words.
/// All that isn't white space is in one of them.
///
/// ```
/// use notekeeper_domain::passages;
///
/// let guide = format!("# Guide\n\n{}\n\n## Travel\n\nBook by train.", "Long. ".repeat(60));
/// let found = passages(&guide);
/// assert_eq!(found[1].text, "## Travel\n\nBook by train.");
/// assert_eq!(found[1].headings, ["Guide", "Travel"]);
/// ```
pub fn passages(text: &str) -> Vec<Passage<'_>> {
    let mut cutting = Cutting {
        text,
        found: Vec::new(),
        trail: Vec::new(),
        current: None,
    };
    for block in blocks(text) {
        if let Some((level, title)) = block.heading {
            cutting.enter(level, title);
        }
        for piece in pieces(text, block.start, block.end) {
            cutting.take(piece);
        }
    }
    cutting.flush();
    cutting.found
}

/// A paragraph, list, table or piece of code; or a heading.
struct Block<'t> {
    start: usize,
    end: usize,
    heading: Option<(usize, &'t str)>,
}

/// A part of a block that fits into a passage: bytes and characters.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    chars: usize,
}

struct Cutting<'t> {
    text: &'t str,
    found: Vec<Passage<'t>>,
    /// Levels and titles of the headings above.
    trail: Vec<(usize, &'t str)>,
    current: Option<(Piece, Vec<&'t str>)>,
}

impl<'t> Cutting<'t> {
    fn enter(&mut self, level: usize, title: &'t str) {
        if self
            .current
            .as_ref()
            .is_some_and(|(piece, _)| piece.chars >= SMALL_CHARS)
        {
            self.flush();
        }
        while self.trail.last().is_some_and(|(above, _)| *above >= level) {
            self.trail.pop();
        }
        let (title, _) = char_prefix(title, HEADING_CHARS_MAX);
        self.trail.push((level, title));
    }

    fn take(&mut self, piece: Piece) {
        if let Some((current, _)) = &mut self.current {
            // The gap is white space, which may be long.
            let gap = self.text.get(current.end..piece.start);
            let chars = current.chars + gap.map_or(0, |gap| gap.chars().count()) + piece.chars;
            let fits = match current.chars < SMALL_CHARS {
                true => chars <= PASSAGE_CHARS_MAX,
                false => chars <= FULL_CHARS,
            };
            if fits && gap.is_some() {
                current.end = piece.end;
                current.chars = chars;
                return;
            }
        }
        self.flush();
        self.current = Some((piece, self.headings()));
    }

    /// The headings above, as many of the innermost as fit.
    fn headings(&self) -> Vec<&'t str> {
        let mut chars = 0;
        let fitting = self.trail.iter().rev().take_while(|(_, title)| {
            chars += title.chars().count();
            chars <= HEADINGS_CHARS_MAX
        });
        let mut titles: Vec<&str> = fitting.map(|(_, title)| *title).collect();
        titles.reverse();
        titles
    }

    fn flush(&mut self) {
        if let Some((piece, headings)) = self.current.take() {
            let text = &self.text[piece.start..piece.end];
            self.found.push(Passage { text, headings });
        }
    }
}

/// The blocks of a text. Blank lines part them, but not inside of fenced code.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut fence: Option<&str> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let content = trim_end_space(line);
        let mut close = |open: &mut Option<usize>, end: usize| {
            if let Some(start) = open.take() {
                blocks.push(Block {
                    start,
                    end,
                    heading: None,
                });
            }
        };
        match (fence, fence_of(content)) {
            (Some(opened), Some(found)) if found == opened => fence = None,
            (Some(_), _) => {}
            (None, Some(found)) => {
                fence = Some(found);
                open.get_or_insert(start);
            }
            (None, None) if content.is_empty() => close(&mut open, start),
            (None, None) => match heading(content) {
                Some(heading) => {
                    close(&mut open, start);
                    blocks.push(Block {
                        start,
                        end,
                        heading: Some(heading),
                    });
                }
                None => {
                    open.get_or_insert(start);
                }
            },
        }
        start = end;
    }
    if let Some(start) = open {
        blocks.push(Block {
            start,
            end: text.len(),
            heading: None,
        });
    }
    blocks
}

/// Level and title of a line that is a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let parted = title.is_empty() || title.starts_with(is_space);
    ((1..=6).contains(&level) && parted).then(|| (level, title.trim_matches(is_space)))
}

/// The kind of fence that a line opens or closes.
fn fence_of(line: &str) -> Option<&'static str> {
    let line = line.trim_start_matches(is_space);
    ["```", "~~~"]
        .into_iter()
        .find(|fence| line.starts_with(fence))
}

/// A block as pieces, cut where it is too long. None begins or ends with white space.
fn pieces(text: &str, mut start: usize, end: usize) -> Vec<Piece> {
    let end = start + trim_end_space(&text[start..end]).len();
    let mut pieces = Vec::new();
    loop {
        start += spaces(&text[start..end]);
        let rest = &text[start..end];
        if rest.is_empty() {
            return pieces;
        }
        let Some((reach, _)) = rest.char_indices().nth(PASSAGE_CHARS_MAX) else {
            pieces.push(piece(text, start, end));
            return pieces;
        };
        let (cut, repeats) = cut_of(&rest[..reach]);
        let kept = trim_end_space(&rest[..cut]).len();
        pieces.push(piece(text, start, start + kept));
        // Beyond more than a space nothing is left to repeat.
        start += match repeats && spaces(&rest[kept..]) <= 1 {
            true => overlap_start(&rest[..kept]),
            false => cut,
        };
    }
}

/// Bytes of white space at the beginning.
fn spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_space).len()
}

fn piece(text: &str, start: usize, end: usize) -> Piece {
    let chars = text[start..end].chars().count();
    Piece { start, end, chars }
}

/// Where the front of a long block ends best, in its second half, and whether what follows is to repeat
/// something: not after the end of a line.
fn cut_of(front: &str) -> (usize, bool) {
    let half = front
        .char_indices()
        .nth(PASSAGE_CHARS_MAX / 2)
        .map_or(0, |(at, _)| at);
    let after = |found: Option<usize>| found.filter(|cut| *cut > half);
    if let Some(cut) = after(front.rfind('\n').map(|at| at + 1)) {
        return (cut, false);
    }
    let mut sentence = None;
    let mut word = None;
    let mut before = ' ';
    for (at, c) in front.char_indices() {
        if is_space(c) {
            word = Some(at);
            if matches!(before, '.' | '!' | '?' | ':' | ';') {
                sentence = Some(at);
            }
        }
        if matches!(c, '。' | '！' | '？') {
            sentence = Some(at + c.len_utf8());
        }
        before = c;
    }
    let cut = after(sentence).or_else(|| after(word));
    (cut.unwrap_or(front.len()), true)
}

/// Where the repeated end of a part begins: at a word, where there is one.
fn overlap_start(part: &str) -> usize {
    let reach = part
        .char_indices()
        .rev()
        .nth(OVERLAP_CHARS - 1)
        .map_or(0, |(at, _)| at);
    let word = part[reach..].find(is_space);
    reach + word.unwrap_or(0)
}
