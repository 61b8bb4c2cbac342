//! What of a page fits a budget, and the text of it.
//!
//! Lines or names are added up as far as they fit by themselves, so no more than the budget is
//! looked at, however large the notebook. What has to be said of the rest then takes the last few
//! away again, unless there is no rest.

use std::borrow::Cow;

use super::page::{FILES_HEADING, MAIN_HEADING, MainPage, NOT_SHOWN, Page};
use crate::text::{char_prefix, char_suffix};

/// Between sections, and between a heading and what it heads.
const SECTION_BREAK: &str = "\n\n";

/// Fewest characters of a line that are worth showing where it doesn't fit whole.
const CUT_LINE_CHARS_MIN: usize = 16;

/// What stands where a line was cut, at the start; at the end the mark says more.
const ELLIPSIS: &str = "…";

/// Text that fits, and what it shows.
pub(super) struct Fitted {
    pub(super) body: String,
    pub(super) lines_shown: usize,
    pub(super) line_cut: bool,
    pub(super) files_listed: usize,
    /// Whether the preface stands in the body.
    pub(super) prefaced: bool,
}

/// What is shown.
#[derive(Clone, Copy)]
struct Choice {
    of_main: Shown,
    files_listed: usize,
}

/// What of the main note is shown.
#[derive(Clone, Copy)]
enum Shown {
    /// The last so many lines.
    Lines(usize),
    /// So many characters of the last line.
    PartOfLine(usize),
}

impl Choice {
    /// Whether this is more than remarks on what is left out.
    fn shows_something(self) -> bool {
        !matches!(
            self,
            Self {
                of_main: Shown::Lines(0),
                files_listed: 0
            }
        )
    }
}

/// The most of `page` that takes `chars_max` characters at most; `None` where not even a remark
/// does.
pub(super) fn fit(page: &Page<'_>, chars_max: usize) -> Option<Fitted> {
    // One section break fewer than sections stands in the text.
    let room = chars_max.saturating_add(SECTION_BREAK.len());
    let alone = choose(page, room);
    let prefaced = page.under_preface();
    let under_preface = if page.preface.is_empty() {
        alone
    } else {
        room.checked_sub(cost(&page.preface))
            .and_then(|room| choose(&prefaced, room))
    };
    // A heading that leaves no room for what it heads is the first to go.
    let preface_costs_text = alone.is_some_and(Choice::shows_something)
        && !under_preface.is_some_and(Choice::shows_something);
    if let Some(choice) = under_preface.filter(|_| !preface_costs_text) {
        return Some(write(&prefaced, &page.preface, choice));
    }
    if let Some(choice) = alone {
        return Some(write(page, "", choice));
    }
    let remarks = [page.not_shown(), NOT_SHOWN.to_owned()];
    let body = remarks
        .into_iter()
        .find(|remark| remark.chars().count() <= chars_max)?;
    Some(Fitted {
        body,
        lines_shown: 0,
        line_cut: false,
        files_listed: 0,
        prefaced: false,
    })
}

/// Characters of a section and of the break that follows it.
fn cost(section: &str) -> usize {
    section.chars().count() + SECTION_BREAK.len()
}

/// What to show in sections that cost `room` at most: all lines and as many names as fit beside
/// them; no name and as many lines as fit; a part of the last line; nothing but what is left out.
fn choose(page: &Page<'_>, room: usize) -> Option<Choice> {
    let Some(main) = &page.main else {
        let files_listed = most_names(page, room)?;
        return Some(Choice {
            of_main: Shown::Lines(0),
            files_listed,
        });
    };
    let all = Shown::Lines(main.lines.len());
    let beside_all = room.checked_sub(cost(&main_section(page, main, all)));
    if let Some(files_listed) = beside_all.and_then(|room| most_names(page, room)) {
        return Some(Choice {
            of_main: all,
            files_listed,
        });
    }
    let files_cost = files_section(page, 0).map_or(0, |section| cost(&section));
    let room = room.checked_sub(files_cost)?;
    let of_main = most_lines(page, main, room)
        .or_else(|| most_of_last_line(page, main, room))
        .or_else(|| remarks_only(page, main, room))?;
    Some(Choice {
        of_main,
        files_listed: 0,
    })
}

/// The greatest number of names whose section costs `room` at most.
fn most_names(page: &Page<'_>, room: usize) -> Option<usize> {
    let fixed = FILES_HEADING.len() + 2 * SECTION_BREAK.len();
    let names = (0..page.names.len()).map(|index| page.listed_chars(index));
    let costs = costs_within(names, room.saturating_sub(fixed));
    let fits = |listed: usize| {
        let notice_cost = page.files_notice(listed).map_or(0, |text| line_cost(&text));
        fixed + costs[listed - 1] + notice_cost <= room
    };
    let none_cost = files_section(page, 0).map_or(0, |section| cost(&section));
    let none = (none_cost <= room).then_some(0);
    (1..=costs.len())
        .rev()
        .find(|&listed| fits(listed))
        .or(none)
}

/// The greatest number of lines, at least one, with which the section costs `room` at most.
fn most_lines(page: &Page<'_>, main: &MainPage<'_>, room: usize) -> Option<Shown> {
    let after_cost = page.notice_after(main).map_or(0, line_cost);
    let fixed = MAIN_HEADING.len() + 2 * SECTION_BREAK.len() + after_cost;
    let lines = main.lines.iter().rev().map(|line| line.chars().count());
    let costs = costs_within(lines, room.saturating_sub(fixed));
    let fits = |shown: usize| {
        let before_cost = page
            .notice_before(main, shown)
            .map_or(0, |text| line_cost(&text));
        fixed + costs[shown - 1] + before_cost <= room
    };
    (1..=costs.len())
        .rev()
        .find(|&shown| fits(shown))
        .map(Shown::Lines)
}

/// What the first line costs, the first two, and so on, as far as that is `room` at most.
fn costs_within(lines: impl Iterator<Item = usize>, room: usize) -> Vec<usize> {
    let mut sum = 0;
    lines
        .enumerate()
        .map(|(index, chars)| {
            sum += chars + usize::from(index > 0);
            sum
        })
        .take_while(|&sum| sum <= room)
        .collect()
}

/// Characters of a line beside others, with the line feed between them.
fn line_cost(line: &str) -> usize {
    line.chars().count() + 1
}

/// As much of the last line as costs `room` at most, where that is worth showing.
fn most_of_last_line(page: &Page<'_>, main: &MainPage<'_>, room: usize) -> Option<Shown> {
    main.lines.last()?;
    let without_text = cost(&main_section(page, main, Shown::PartOfLine(0)));
    let chars = room.checked_sub(without_text)?;
    (chars >= CUT_LINE_CHARS_MIN).then_some(Shown::PartOfLine(chars))
}

fn remarks_only(page: &Page<'_>, main: &MainPage<'_>, room: usize) -> Option<Shown> {
    let none = Shown::Lines(0);
    (cost(&main_section(page, main, none)) <= room).then_some(none)
}

fn write(page: &Page<'_>, preface: &str, choice: Choice) -> Fitted {
    let Choice {
        of_main,
        files_listed,
    } = choice;
    let mut sections = Vec::new();
    if !preface.is_empty() {
        sections.push(preface.to_owned());
    }
    sections.extend(
        page.main
            .as_ref()
            .map(|main| main_section(page, main, of_main)),
    );
    sections.extend(files_section(page, files_listed));
    let (lines_shown, line_cut) = match of_main {
        Shown::Lines(count) => (count, false),
        Shown::PartOfLine(_) => (1, true),
    };
    Fitted {
        body: sections.join(SECTION_BREAK),
        lines_shown,
        line_cut,
        files_listed,
        prefaced: !preface.is_empty(),
    }
}

fn main_section(page: &Page<'_>, main: &MainPage<'_>, shown: Shown) -> String {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    let all = main.lines.len();
    match shown {
        Shown::Lines(count) => {
            lines.extend(page.notice_before(main, count).map(Cow::Owned));
            lines.extend(
                main.lines[all - count..]
                    .iter()
                    .map(|line| Cow::Borrowed(*line)),
            );
        }
        Shown::PartOfLine(chars) => {
            lines.extend(page.notice_before(main, 1).map(Cow::Owned));
            lines.push(Cow::Owned(part_of_line(page, main, chars)));
        }
    }
    lines.extend(page.notice_after(main).map(Cow::Borrowed));
    format!("{MAIN_HEADING}{SECTION_BREAK}{}", lines.join("\n"))
}

/// So many characters of the last line, with a mark where the others were: its beginning, which
/// says what it is about; its end, where the beginning wasn't read.
fn part_of_line(page: &Page<'_>, main: &MainPage<'_>, chars: usize) -> String {
    let index = main.lines.len() - 1;
    let line = main.lines[index];
    if main.may_begin_earlier(index) {
        format!("{ELLIPSIS}{}", char_suffix(line, chars).0)
    } else {
        format!("{}{}", char_prefix(line, chars).0, page.cut_mark())
    }
}

/// The names of other notes, or what is said of them; `None` where there are none.
fn files_section(page: &Page<'_>, listed: usize) -> Option<String> {
    let notice = page.files_notice(listed);
    if listed == 0 {
        return notice;
    }
    let lines: Vec<String> = (0..listed)
        .map(|index| page.listed(index))
        .chain(notice)
        .collect();
    Some(format!(
        "{FILES_HEADING}{SECTION_BREAK}{}",
        lines.join("\n")
    ))
}
