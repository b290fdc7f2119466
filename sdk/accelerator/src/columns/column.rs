//! One column of any kind: its layout, its number of values, and how it loses the last ones.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::buffers::{Bits, Offsets, Validity};
use super::bytes::{Fixed, FixedMeaning, Sized};
use super::nested::{List, Map, Struct, Union};
use super::number::Number;
use crate::nodes::{part, unknown};

/// The buffers of one array.
pub enum Column {
    Null(usize),
    Boolean(Bits, Validity),
    Number(Number),
    Sized(Sized),
    Fixed(Fixed),
    List(List),
    Map(Map),
    Struct(Struct),
    Union(Union),
}

impl Column {
    pub fn from_layout(layout: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let kind: String = part(layout, 0)?;
        Ok(match kind.as_str() {
            "null" => Self::Null(0),
            "boolean" => Self::Boolean(Bits::default(), Validity::default()),
            "number" => Self::Number(Number::from_layout(layout)?),
            "text" | "bytes" => Self::Sized(Sized {
                is_text: kind == "text",
                offsets: Offsets::default(),
                data: Vec::new(),
                validity: Validity::default(),
            }),
            "fixed" => Self::fixed(FixedMeaning::Bytes, part(layout, 1)?),
            "uuid" => Self::fixed(FixedMeaning::Uuid, size_of::<u128>()),
            "decimal" => Self::fixed(
                FixedMeaning::Decimal { precision: part(layout, 2)?, scale: part(layout, 3)? },
                part(layout, 1)?,
            ),
            "list" => Self::List(List {
                items: Box::new(Self::inside(layout, 1)?),
                offsets: Offsets::default(),
                validity: Validity::default(),
            }),
            "map" => Self::Map(Map {
                keys: Box::new(Self::inside(layout, 1)?),
                values: Box::new(Self::inside(layout, 2)?),
                offsets: Offsets::default(),
                validity: Validity::default(),
            }),
            "struct" => {
                let fields: Vec<(String, Bound<'_, PyTuple>)> = part(layout, 1)?;
                let columns = fields
                    .into_iter()
                    .map(|(name, layout)| Ok((name, Self::from_layout(&layout)?)))
                    .collect::<PyResult<_>>()?;
                Self::Struct(Struct { columns, rows: 0, validity: Validity::default() })
            }
            "union" => {
                let branches: Vec<Bound<'_, PyTuple>> = part(layout, 1)?;
                let branches = branches.iter().map(Self::from_layout).collect::<PyResult<_>>()?;
                Self::Union(Union { branches, numbers: Vec::new(), places: Vec::new() })
            }
            other => return Err(unknown("column", other)),
        })
    }

    pub fn inside(layout: &Bound<'_, PyTuple>, place: usize) -> PyResult<Self> {
        Self::from_layout(layout.get_item(place)?.cast::<PyTuple>()?)
    }

    pub fn fixed(meaning: FixedMeaning, size: usize) -> Self {
        Self::Fixed(Fixed { meaning, size, data: Vec::new(), validity: Validity::default() })
    }

    /// The number of values; a column that has lost some to `truncate` may have had more.
    pub fn count(&self) -> usize {
        match self {
            Self::Null(rows) | Self::Struct(Struct { rows, .. }) => *rows,
            Self::Boolean(bits, _) => bits.count,
            Self::Number(column) => column.data.len() / column.size,
            Self::Sized(column) => column.offsets.count(),
            Self::Fixed(column) => column.rows(),
            Self::List(column) => column.offsets.count(),
            Self::Map(column) => column.offsets.count(),
            Self::Union(column) => column.numbers.len(),
        }
    }

    /// Keep the first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        match self {
            Self::Null(count) => *count = rows.min(*count),
            Self::Boolean(bits, validity) => {
                bits.truncate(rows);
                validity.truncate(rows);
            }
            Self::Number(column) => {
                column.data.truncate(rows * column.size);
                column.validity.truncate(rows);
            }
            Self::Sized(column) => {
                column.data.truncate(column.offsets.truncate(rows));
                column.validity.truncate(rows);
            }
            Self::Fixed(column) => column.truncate(rows),
            Self::List(column) => {
                column.items.truncate(column.offsets.truncate(rows));
                column.validity.truncate(rows);
            }
            Self::Map(column) => {
                let end = column.offsets.truncate(rows);
                column.keys.truncate(end);
                column.values.truncate(end);
                column.validity.truncate(rows);
            }
            Self::Struct(column) => {
                column.columns.iter_mut().for_each(|(_, inner)| inner.truncate(rows));
                column.rows = rows.min(column.rows);
                column.validity.truncate(rows);
            }
            Self::Union(column) => column.truncate(rows),
        }
    }
}
