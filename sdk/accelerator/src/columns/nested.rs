//! Columns with columns inside: lists, maps, structs and unions.

use super::buffers::{OFFSET_BYTES, Offsets, Validity};
use super::column::Column;
use crate::outcome::{OrIrregular, Outcome};

pub struct List {
    pub items: Box<Column>,
    pub offsets: Offsets,
    pub validity: Validity,
}

pub struct Map {
    pub keys: Box<Column>,
    pub values: Box<Column>,
    pub offsets: Offsets,
    pub validity: Validity,
}

pub struct Struct {
    pub columns: Vec<(String, Column)>,
    pub rows: usize,
    pub validity: Validity,
}

/// A union of several types, "dense": the number of the branch of each value, and its place there.
pub struct Union {
    pub branches: Vec<Column>,
    pub numbers: Vec<u8>,
    pub places: Vec<u8>,
}

impl List {
    pub fn close(&mut self) -> Outcome<()> {
        let rows = self.offsets.count();
        self.offsets.push(self.items.count())?;
        self.validity.push(true, rows);
        Ok(())
    }
}

impl Map {
    pub fn close(&mut self) -> Outcome<()> {
        let rows = self.offsets.count();
        self.offsets.push(self.keys.count())?;
        self.validity.push(true, rows);
        Ok(())
    }
}

impl Struct {
    #[inline]
    pub fn close(&mut self) {
        self.validity.push(true, self.rows);
        self.rows += 1;
    }

    pub fn column(&mut self, number: usize) -> Outcome<&mut Column> {
        self.columns.get_mut(number).map(|(_, column)| column).or_irregular()
    }
}

impl Union {
    /// Add the number of a branch, and return the branch for the value.
    pub fn branch(&mut self, number: usize) -> Outcome<&mut Column> {
        let branch = self.branches.get_mut(number).or_irregular()?;
        let place = i32::try_from(branch.count()).or_irregular()?;
        self.numbers.push(u8::try_from(number).or_irregular()?);
        self.places.extend_from_slice(&place.to_ne_bytes());
        Ok(branch)
    }

    pub fn truncate(&mut self, rows: usize) {
        self.numbers.truncate(rows);
        self.places.truncate(rows * OFFSET_BYTES);
        for (number, branch) in self.branches.iter_mut().enumerate() {
            let kept = self.numbers.iter().filter(|one| usize::from(**one) == number).count();
            branch.truncate(kept);
        }
    }
}
