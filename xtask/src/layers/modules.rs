//! The dependencies among the modules of a crate, read from the sources.
//!
//! A module is a file. A name belongs to the module that defines it, even if it is imported through `pub
//! use`, so a parent that only re-exports its children's names depends on none of them. Tests do not count.

mod circles;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use crate::failure::{Failure, Outcome};
use circles::{Arrows, circles};
use source::Source;

/// The circles among the modules of the crate whose root is this file, a sentence for each. First those of
/// single files; if there are none, those of modules with all that is in them.
pub(super) fn circles_in(root: &Path, read: &dyn Fn(&Path) -> io::Result<String>) -> Outcome<Vec<String>> {
    let mut modules = Modules::default();
    let folder = root.parent().unwrap_or(root);
    let text = read(root).map_err(Failure::about(root.display()))?;
    modules.add("crate", root, &text, folder, read)?;
    let arrows = modules.arrows();
    let among_files = circles(&arrows);
    if among_files.is_empty() {
        return Ok(circles(&between_siblings(&arrows)));
    }
    Ok(among_files)
}

/// The modules of a crate, by their paths from `crate`.
#[derive(Default)]
struct Modules(BTreeMap<String, Source>);

impl Modules {
    /// `folder` is where the files of its children are.
    fn add(
        &mut self,
        path: &str,
        file: &Path,
        text: &str,
        folder: &Path,
        read: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Outcome {
        let source = Source::parse(text).map_err(Failure::about(file.display()))?;
        for (name, named) in &source.children {
            let child = format!("{path}::{name}");
            let beside = file.parent().unwrap_or(folder);
            let candidates = match named {
                // The files of its children are in the same folder, as for a `mod.rs`.
                Some(named) => vec![beside.join(named)],
                None => vec![
                    folder.join(format!("{name}.rs")),
                    folder.join(name).join("mod.rs"),
                ],
            };
            let found = candidates.iter().find_map(|file| Some((file, read(file).ok()?)));
            let (file, text) = found.ok_or_else(|| {
                Failure::new(format!(
                    "{}: no file of `mod {name};` can be read",
                    file.display()
                ))
            })?;
            let folder = match named {
                Some(_) => file.parent().unwrap_or(beside).to_owned(),
                None => folder.join(name),
            };
            self.add(&child, file, &text, &folder, read)?;
        }
        self.0.insert(path.to_owned(), source);
        Ok(())
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (module, source) in &self.0 {
            let targets = arrows.entry(module.clone()).or_default();
            for path in &source.paths {
                match self.definition(module, path, false, &mut BTreeSet::new()) {
                    Some((target, name)) if target != *module => drop(targets.entry(target).or_insert(name)),
                    Some(_) | None => {}
                }
            }
        }
        arrows
    }

    /// The module that defines the item of the path, and its name; `None` for modules and for items of other
    /// crates. `surely` if the path can only lead into this crate, so that a name which no keyword defines is
    /// of a macro.
    fn definition(
        &self,
        module: &str,
        path: &[String],
        surely: bool,
        seen: &mut BTreeSet<(String, String)>,
    ) -> Option<(String, String)> {
        let (name, rest) = path.split_first()?;
        let child = format!("{module}::{name}");
        match name.as_str() {
            "crate" => return self.definition("crate", rest, true, seen),
            "self" => return self.definition(module, rest, true, seen),
            "super" => return self.definition(module.rsplit_once("::")?.0, rest, true, seen),
            _ if self.0.contains_key(&child) => return self.definition(&child, rest, true, seen),
            _ => {}
        }
        if !seen.insert((module.to_owned(), name.clone())) {
            return None;
        }
        let source = self.0.get(module)?;
        let here = Some((module.to_owned(), name.clone()));
        if source.defined.contains(name) || name == "*" {
            return here;
        }
        let mut imports = source.imports.iter();
        if let Some((_, import)) = imports.find(|(imported, _)| imported == name) {
            return self.definition(module, &[import, rest].concat(), false, seen);
        }
        let globs = source.imports.iter().filter(|(imported, _)| imported == "*");
        let mut elsewhere = globs.filter_map(|(_, glob)| {
            self.definition(module, &[&glob[..glob.len() - 1], path].concat(), false, seen)
        });
        elsewhere.next().or(here.filter(|_| surely))
    }
}

/// The arrows between modules of one parent, each with all that is in it.
fn between_siblings(arrows: &Arrows) -> Arrows {
    let mut siblings = Arrows::new();
    for (from, targets) in arrows {
        for (to, name) in targets {
            let (mut ours, mut theirs) = (from.split("::"), to.split("::"));
            let mut path = Vec::new();
            while let (Some(our), Some(their)) = (ours.next(), theirs.next()) {
                if our != their {
                    let sibling = |last| [&path[..], &[last]].concat().join("::");
                    let targets = siblings.entry(sibling(our)).or_default();
                    targets.entry(sibling(their)).or_insert_with(|| name.clone());
                    break;
                }
                path.push(our);
            }
        }
    }
    siblings
}

#[cfg(test)]
mod tests;
