//! Reading a block back: what it shows, and what it says of the rest.

const OPENING: &str = "<memory>\n";
const CLOSING: &str = "\n</memory>";
const MAIN_HEADING: &str = "### MEMORY.md";
const FILES_HEADING: &str = "### Other files";

/// What a block shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Characters between the delimiters.
    pub(super) body_chars: usize,
    /// The heading, if it is shown.
    pub(super) heading: Option<String>,
    /// Lines of the main note; `None` where the note has no section.
    pub(super) lines: Option<Vec<String>>,
    /// Whether the only line is cut. Then it stands without its mark.
    pub(super) cut: bool,
    /// Whether the start of that line was cut off, and not its end.
    pub(super) cut_at_start: bool,
    /// Earlier lines that a notice counts.
    pub(super) dropped: usize,
    /// Whether a notice says that a part of the note wasn't read.
    pub(super) says_partial: bool,
    /// Names that are listed; `None` where neither a list nor a notice stands.
    pub(super) listed: Option<Vec<String>>,
    /// Names that a notice speaks of.
    pub(super) omitted: Omitted,
    /// Whether all of it is a remark that stands for the notebook.
    pub(super) is_remark: bool,
}

/// What a notice says of names that aren't listed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Omitted {
    /// There are none.
    #[default]
    None,
    /// So many.
    Some(usize),
    /// Some.
    Unknown,
}

/// Reads a block. What isn't understood is an error: a block never holds half a notice.
pub(super) fn parse(block: &str, heading: &str) -> Result<Shown, String> {
    let body = block
        .strip_prefix(OPENING)
        .and_then(|rest| rest.strip_suffix(CLOSING))
        .ok_or("the delimiters are missing")?;
    let mut shown = Shown {
        body_chars: body.chars().count(),
        ..Shown::default()
    };
    if body.starts_with('[') && body.ends_with("not shown]")
        || body.starts_with("[notebook not shown") && body.ends_with(']')
    {
        shown.is_remark = true;
        return Ok(shown);
    }
    let mut rest = body;
    if let Some(after) = rest.strip_prefix(&format!("## {heading}\n\n"))
        && !heading.is_empty()
    {
        shown.heading = Some(heading.to_owned());
        rest = after;
    }
    let rest = take_files(rest, &mut shown);
    match rest.strip_prefix(MAIN_HEADING) {
        Some(main) => take_main(main, &mut shown)?,
        None if rest.is_empty() => {}
        None => return Err(format!("not understood: {rest:?}")),
    }
    Ok(shown)
}

/// Takes the section of other notes, or the notice that stands for it, from the end.
fn take_files<'b>(body: &'b str, shown: &mut Shown) -> &'b str {
    let heading = format!("{FILES_HEADING}\n\n");
    let section = body
        .rfind(&heading)
        .filter(|&at| at == 0 || body[..at].ends_with("\n\n"))
        .map(|at| (&body[..at], &body[at + heading.len()..]));
    if let Some((before, list)) = section {
        let mut lines: Vec<&str> = list.split('\n').collect();
        if let Some(omitted) = lines.last().and_then(|line| files_notice(line)) {
            shown.omitted = omitted;
            lines.pop();
        }
        let names: Option<Vec<String>> = lines
            .iter()
            .map(|line| Some(line.strip_prefix("- ")?.to_owned()))
            .collect();
        if names.is_some() {
            shown.listed = names;
            return before.strip_suffix("\n\n").unwrap_or(before);
        }
    }
    let (before, last) = body.rsplit_once("\n\n").unwrap_or(("", body));
    match files_notice(last) {
        Some(omitted) => {
            shown.listed = Some(Vec::new());
            shown.omitted = omitted;
            before
        }
        None => body,
    }
}

/// What a line says of names that aren't listed.
fn files_notice(line: &str) -> Option<Omitted> {
    let notice = line.strip_prefix('[')?.strip_suffix(']')?;
    let (what, _) = notice.split_once(": use ")?;
    let words: Vec<&str> = what.split(' ').collect();
    let number = words[0].parse().ok();
    let known = match number {
        Some(_) => &words[1..],
        None => &words[..],
    };
    matches!(
        known,
        ["more", "file" | "files"] | ["file" | "files", "not", "listed"]
    )
    .then(|| number.map_or(Omitted::Unknown, Omitted::Some))
}

fn take_main(section: &str, shown: &mut Shown) -> Result<(), String> {
    let text = section
        .strip_prefix("\n\n")
        .ok_or("no empty line follows the heading of the main note")?;
    let mut lines: Vec<&str> = text.split('\n').collect();
    if let Some((dropped, partial)) = lines.first().and_then(|line| notice_before(line)) {
        shown.dropped = dropped;
        shown.says_partial = partial;
        lines.remove(0);
    }
    if lines.last().is_some_and(|line| is_notice_after(line)) {
        shown.says_partial = true;
        lines.pop();
    }
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    if let [line] = lines.as_mut_slice() {
        if let Some((text, mark)) = line.rsplit_once("… [cut: use ")
            && mark.ends_with(']')
        {
            shown.cut = true;
            *line = text.to_owned();
        } else if let Some(text) = line.strip_prefix('…') {
            shown.cut = true;
            shown.cut_at_start = true;
            *line = text.to_owned();
        }
    }
    shown.lines = Some(lines);
    Ok(())
}

/// What a line says of text before it: how many lines, and whether also text that wasn't read.
fn notice_before(line: &str) -> Option<(usize, bool)> {
    let notice = line.strip_prefix('[')?.strip_suffix(']')?;
    let (what, _) = notice.split_once(" left out: use ")?;
    let words: Vec<&str> = what.split(' ').collect();
    match words.as_slice() {
        ["older", "text"] => Some((0, true)),
        [count, "line" | "lines"] | [count, "earlier", "line" | "lines"] => {
            Some((count.parse().ok()?, false))
        }
        [count, "line" | "lines", "and", "older", "text"] => Some((count.parse().ok()?, true)),
        _ => None,
    }
}

fn is_notice_after(line: &str) -> bool {
    line.starts_with("[the file is over its size limit") && line.ends_with(']')
}
