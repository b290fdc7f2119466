//! Columns: messages decoded into the buffers of Arrow arrays, without a Python value for each cell.
//!
//! The steps are those of a `Decoder`; the layout of the columns, which `counterfoil.sdk` makes of the reader's schema,
//! is their destination. A message that does not fit its columns leaves no trace in them and is left to the Python code.
//!
//! Source: Apache Arrow, "Arrow Columnar Format" 1.5.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::conversion::{Conversion, Form};
use crate::decoder::{Decoder, Node, Record};
use crate::message::Message;
use crate::nodes::{NodeNumber, part, unknown};
use crate::outcome::{Irregular, OrIrregular, Outcome};

const OFFSET_BYTES: usize = size_of::<i32>();
const DECIMAL_128: usize = 16;
const DECIMAL_256: usize = 32;
const BITS: usize = 8;

/// Columns of one plan, and how many rows they have.
///
/// `layout` is the destination of the plan's values: a tuple that begins with the name of its kind, with the layouts
/// inside it.
#[pyclass(module = "counterfoil_accelerator")]
pub struct Columns {
    decoder: Py<Decoder>,
    root: Column,
    /// The number of rows.
    #[pyo3(get)]
    rows: usize,
}

#[pymethods]
impl Columns {
    #[new]
    fn new(decoder: Py<Decoder>, layout: &Bound<'_, PyTuple>) -> PyResult<Self> {
        Ok(Self { decoder, root: Column::from_layout(layout)?, rows: 0 })
    }

    /// Add a row for each of the messages from number `start` on, and return the number of the first that is not added.
    ///
    /// It is the first that does not begin with `prefix`, after which the value is read, or that is left to the Python
    /// code.
    #[pyo3(signature = (messages, start, prefix, /))]
    fn extend(&mut self, messages: &Bound<'_, PyList>, start: usize, prefix: &[u8]) -> PyResult<usize> {
        let py = messages.py();
        let decoder = self.decoder.clone_ref(py);
        for next in start..messages.len() {
            let message = messages.get_item(next)?;
            let Ok(data) = message.cast_exact::<PyBytes>() else { return Ok(next) };
            let Some(body) = data.as_bytes().strip_prefix(prefix) else { return Ok(next) };
            if let Err(irregular) = self.add(py, decoder.get(), body, data.as_bytes().len()) {
                return irregular.or_value(py, next);
            }
        }
        Ok(messages.len().max(start))
    }

    /// Add a row of nulls.
    fn append_null(&mut self) -> PyResult<()> {
        self.root.push_null().map_err(|_| PyOverflowError::new_err("the columns have too many values"))?;
        self.rows += 1;
        Ok(())
    }

    /// Return the rows and remove them: number of values, buffers, and the same for the columns inside.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let taken = self.root.take(py)?;
        self.rows = 0;
        Ok(taken)
    }
}

impl Columns {
    fn add(&mut self, py: Python<'_>, decoder: &Decoder, body: &[u8], size: usize) -> Outcome<()> {
        let mut message = decoder.message(body, size);
        let read = read(py, decoder, decoder.root, &mut self.root, &mut message);
        if read.is_ok() && (message.left() == 0 || !decoder.is_whole) {
            self.rows += 1;
            return Ok(());
        }
        self.root.truncate(self.rows);
        read.and(Err(Irregular::HERE))
    }
}

/// The buffers of one array.
enum Column {
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

/// One bit for each value, the lowest of a byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

/// Which values are not null; nothing as long as none is.
#[derive(Default)]
struct Validity(Option<Bits>);

struct Number {
    meaning: Meaning,
    size: usize,
    data: Vec<u8>,
    validity: Validity,
}

/// What a number in a column means, which decides from what it may be read.
#[derive(Clone, Copy)]
enum Meaning {
    Integer,
    Real,
    Date,
    Time { unit_us: i64 },
    Timestamp { unit_us: i64 },
    LocalTimestamp { unit_us: i64 },
    Nanos,
    LocalNanos,
}

/// Texts or bytes of any length.
struct Sized {
    is_text: bool,
    offsets: Offsets,
    data: Vec<u8>,
    validity: Validity,
}

/// Values of as many bytes as all others.
struct Fixed {
    meaning: FixedMeaning,
    size: usize,
    data: Vec<u8>,
    validity: Validity,
}

#[derive(Clone, Copy)]
enum FixedMeaning {
    Bytes,
    Uuid,
    Decimal { precision: u32, scale: u32 },
}

struct List {
    items: Box<Column>,
    offsets: Offsets,
    validity: Validity,
}

struct Map {
    keys: Box<Column>,
    values: Box<Column>,
    offsets: Offsets,
    validity: Validity,
}

struct Struct {
    columns: Vec<(String, Column)>,
    rows: usize,
    validity: Validity,
}

/// A union of several types, "dense": the number of the branch of each value, and its place there.
struct Union {
    branches: Vec<Column>,
    numbers: Vec<u8>,
    places: Vec<u8>,
}

/// Where each value ends; there is one more of them than values.
struct Offsets(Vec<u8>);

impl Default for Offsets {
    fn default() -> Self {
        Self(vec![0; OFFSET_BYTES])
    }
}

impl Offsets {
    fn count(&self) -> usize {
        self.0.len() / OFFSET_BYTES - 1
    }

    fn push(&mut self, end: usize) -> Outcome<()> {
        self.0.extend_from_slice(&i32::try_from(end).or_irregular()?.to_ne_bytes());
        Ok(())
    }

    /// Keep the first `rows` values, and return where the last of them ends.
    fn truncate(&mut self, rows: usize) -> usize {
        self.0.truncate((rows + 1) * OFFSET_BYTES);
        self.0.last_chunk().map_or(0, |end| usize::try_from(i32::from_ne_bytes(*end)).unwrap_or(0))
    }

    /// Add a null, which ends where the value before it does.
    fn repeat(&mut self) {
        let last = self.0.last_chunk::<OFFSET_BYTES>().copied().unwrap_or_default();
        self.0.extend_from_slice(&last);
    }
}

impl Bits {
    #[inline]
    fn push(&mut self, bit: bool) {
        if self.count.is_multiple_of(BITS) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.count % BITS);
        }
        self.count += 1;
    }

    fn truncate(&mut self, count: usize) {
        if count < self.count {
            self.bytes.truncate(count.div_ceil(BITS));
            if let Some(last) = self.bytes.last_mut().filter(|_| !count.is_multiple_of(BITS)) {
                *last &= (1 << (count % BITS)) - 1;
            }
            self.count = count;
        }
    }
}

impl Validity {
    /// Add whether the value after `rows` others is not null.
    #[inline]
    fn push(&mut self, is_valid: bool, rows: usize) {
        if self.0.is_none() && is_valid {
            return;
        }
        let bits = self.0.get_or_insert_with(|| {
            let mut bits = Bits { bytes: vec![u8::MAX; rows.div_ceil(BITS)], count: usize::MAX };
            bits.truncate(rows);
            bits
        });
        bits.push(is_valid);
    }

    fn truncate(&mut self, rows: usize) {
        if let Some(bits) = &mut self.0 {
            bits.truncate(rows);
        }
    }

    fn take<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.take().map(|bits| PyBytes::new(py, &bits.bytes))
    }
}

impl Column {
    fn from_layout(layout: &Bound<'_, PyTuple>) -> PyResult<Self> {
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

    fn inside(layout: &Bound<'_, PyTuple>, place: usize) -> PyResult<Self> {
        Self::from_layout(layout.get_item(place)?.cast::<PyTuple>()?)
    }

    fn fixed(meaning: FixedMeaning, size: usize) -> Self {
        Self::Fixed(Fixed { meaning, size, data: Vec::new(), validity: Validity::default() })
    }

    /// The number of values; a column that has lost some to `truncate` may have had more.
    fn count(&self) -> usize {
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
    fn truncate(&mut self, rows: usize) {
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

    fn push_null(&mut self) -> Outcome<()> {
        match self {
            Self::Null(rows) => *rows += 1,
            Self::Boolean(bits, validity) => {
                validity.push(false, bits.count);
                bits.push(false);
            }
            Self::Number(column) => {
                column.validity.push(false, column.data.len() / column.size);
                column.data.resize(column.data.len() + column.size, 0);
            }
            Self::Sized(column) => {
                column.validity.push(false, column.offsets.count());
                column.offsets.repeat();
            }
            Self::Fixed(column) => column.push_null(),
            Self::List(column) => {
                column.validity.push(false, column.offsets.count());
                column.offsets.repeat();
            }
            Self::Map(column) => {
                column.validity.push(false, column.offsets.count());
                column.offsets.repeat();
            }
            Self::Struct(column) => {
                column.columns.iter_mut().try_for_each(|(_, inner)| inner.push_null())?;
                column.validity.push(false, column.rows);
                column.rows += 1;
            }
            Self::Union(column) => {
                let null = column.branches.iter().position(|one| matches!(one, Self::Null(_))).unwrap_or(0);
                column.branch(null)?.push_null()?;
            }
        }
        Ok(())
    }

    fn push_bytes(&mut self, bytes: &[u8], form: Option<&Conversion>) -> Outcome<()> {
        match self {
            Self::Sized(column) if !column.is_text && form.is_none() => column.push(bytes),
            Self::Fixed(column) => column.push_bytes(bytes, form),
            _ => Err(Irregular::HERE),
        }
    }

    fn push_text(&mut self, bytes: &[u8], form: Option<&Conversion>) -> Outcome<()> {
        match (self, form) {
            (Self::Sized(column), None) if column.is_text => {
                std::str::from_utf8(bytes).or_irregular()?;
                column.push(bytes)
            }
            (Self::Fixed(column), Some(form)) if matches!(column.meaning, FixedMeaning::Uuid) => {
                column.push(&form.uuid_of_text(bytes)?)
            }
            _ => Err(Irregular::HERE),
        }
    }

    /// Add a default of the reader.
    fn push_value(&mut self, value: &Bound<'_, PyAny>) -> Outcome<()> {
        if value.is_none() && !matches!(self, Self::Union(_)) {
            return self.push_null();
        }
        match self {
            Self::Boolean(bits, validity) => {
                let bit = value.cast_exact::<PyBool>().or_irregular()?.is_true();
                validity.push(true, bits.count);
                bits.push(bit);
                Ok(())
            }
            Self::Number(column) => match column.meaning {
                Meaning::Integer => column.push(value.cast_exact::<PyInt>().or_irregular()?.extract()?),
                Meaning::Real => column.push_real(value.cast_exact::<PyFloat>().or_irregular()?.value()),
                _ => Err(Irregular::HERE),
            },
            Self::Sized(column) if column.is_text => {
                column.push(value.cast_exact::<PyString>().or_irregular()?.to_str()?.as_bytes())
            }
            Self::Sized(_) | Self::Fixed(_) => {
                self.push_bytes(value.cast_exact::<PyBytes>().or_irregular()?.as_bytes(), None)
            }
            Self::List(column) => {
                for item in value.cast_exact::<PyList>().or_irregular()? {
                    column.items.push_value(&item)?;
                }
                column.close()
            }
            Self::Map(column) => {
                for (key, item) in value.cast_exact::<PyDict>().or_irregular()? {
                    column.keys.push_value(&key)?;
                    column.values.push_value(&item)?;
                }
                column.close()
            }
            Self::Struct(column) => {
                let entries = value.cast_exact::<PyDict>().or_irregular()?;
                for (name, inner) in &mut column.columns {
                    inner.push_value(&entries.get_item(&*name)?.or_irregular()?)?;
                }
                column.close();
                Ok(())
            }
            Self::Null(_) | Self::Union(_) => Err(Irregular::HERE),
        }
    }

    /// Return the buffers and leave the column empty.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.count();
        let bytes = |data: &mut Vec<u8>| PyBytes::new(py, &std::mem::take(data));
        let none = py.None().into_bound(py);
        let part = match self {
            Self::Null(count) => {
                *count = 0;
                (rows, (none,), Vec::<Bound<'py, PyAny>>::new()).into_pyobject(py)?
            }
            Self::Boolean(bits, validity) => {
                bits.count = 0;
                (rows, (validity.take(py), bytes(&mut bits.bytes)), Vec::<Bound<'py, PyAny>>::new())
                    .into_pyobject(py)?
            }
            Self::Number(Number { data, validity, .. }) | Self::Fixed(Fixed { data, validity, .. }) => {
                (rows, (validity.take(py), bytes(data)), Vec::<Bound<'py, PyAny>>::new()).into_pyobject(py)?
            }
            Self::Sized(column) => {
                let offsets = PyBytes::new(py, &std::mem::take(&mut column.offsets).0);
                let buffers = (column.validity.take(py), offsets, bytes(&mut column.data));
                (rows, buffers, Vec::<Bound<'py, PyAny>>::new()).into_pyobject(py)?
            }
            Self::List(column) => {
                let offsets = PyBytes::new(py, &std::mem::take(&mut column.offsets).0);
                (rows, (column.validity.take(py), offsets), vec![column.items.take(py)?]).into_pyobject(py)?
            }
            Self::Map(column) => {
                let offsets = PyBytes::new(py, &std::mem::take(&mut column.offsets).0);
                let entries = vec![column.keys.take(py)?, column.values.take(py)?];
                (rows, (column.validity.take(py), offsets), entries).into_pyobject(py)?
            }
            Self::Struct(column) => {
                column.rows = 0;
                let inner = column.columns.iter_mut().map(|(_, inner)| inner.take(py)).collect::<PyResult<Vec<_>>>()?;
                (rows, (column.validity.take(py),), inner).into_pyobject(py)?
            }
            Self::Union(column) => {
                let inner = column.branches.iter_mut().map(|one| one.take(py)).collect::<PyResult<Vec<_>>>()?;
                (rows, (none, bytes(&mut column.numbers), bytes(&mut column.places)), inner).into_pyobject(py)?
            }
        };
        Ok(part.into_any())
    }
}

impl Number {
    fn from_layout(layout: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let name: String = part(layout, 2)?;
        let meaning = match name.as_str() {
            "integer" => Meaning::Integer,
            "real" => Meaning::Real,
            "date" => Meaning::Date,
            "time" => Meaning::Time { unit_us: part(layout, 3)? },
            "timestamp" => Meaning::Timestamp { unit_us: part(layout, 3)? },
            "local-timestamp" => Meaning::LocalTimestamp { unit_us: part(layout, 3)? },
            "nanos" => Meaning::Nanos,
            "local-nanos" => Meaning::LocalNanos,
            other => return Err(unknown("column", other)),
        };
        Ok(Self { meaning, size: part(layout, 1)?, data: Vec::new(), validity: Validity::default() })
    }

    #[inline]
    fn push(&mut self, number: i64) -> Outcome<()> {
        self.validity.push(true, self.data.len() / self.size);
        if self.size == size_of::<i32>() {
            self.data.extend_from_slice(&i32::try_from(number).or_irregular()?.to_ne_bytes());
        } else {
            self.data.extend_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    }

    #[inline]
    fn push_real(&mut self, number: f64) -> Outcome<()> {
        if !matches!(self.meaning, Meaning::Real) {
            return Err(Irregular::HERE);
        }
        self.validity.push(true, self.data.len() / self.size);
        if self.size == size_of::<f32>() {
            #[expect(clippy::cast_possible_truncation, reason = "a float is the nearest of its numbers")]
            self.data.extend_from_slice(&(number as f32).to_ne_bytes());
        } else {
            self.data.extend_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    }

    #[inline]
    fn push_integer(&mut self, number: i64, form: Option<&Conversion>) -> Outcome<()> {
        match (self.meaning, form.map(Conversion::form)) {
            (Meaning::Integer, None)
            | (Meaning::Nanos, Some(Form::Nanos))
            | (Meaning::LocalNanos, Some(Form::LocalNanos)) => self.push(number),
            #[expect(clippy::cast_precision_loss, reason = "Avro promotes a long to a double, the nearest one")]
            (Meaning::Real, Some(Form::Float)) => self.push_real(number as f64),
            (Meaning::Date, Some(Form::Date)) => self.push(crate::conversion::checked_day(number)?),
            (Meaning::Time { unit_us }, Some(Form::Time { unit_us: read_us })) => {
                self.push(crate::conversion::checked_time_us(number, read_us)? / unit_us)
            }
            (Meaning::Timestamp { unit_us }, Some(Form::Timestamp { unit_us: read_us }))
            | (Meaning::LocalTimestamp { unit_us }, Some(Form::LocalTimestamp { unit_us: read_us })) => {
                self.push(crate::conversion::checked_instant_us(number, read_us)?.div_euclid(unit_us))
            }
            _ => Err(Irregular::HERE),
        }
    }
}

impl Sized {
    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Outcome<()> {
        let rows = self.offsets.count();
        self.offsets.push(self.data.len().checked_add(bytes.len()).or_irregular()?)?;
        self.data.extend_from_slice(bytes);
        self.validity.push(true, rows);
        Ok(())
    }
}

impl Fixed {
    /// The number of values; those of a type without bytes are counted by their validity, which then is kept.
    fn rows(&self) -> usize {
        match (self.size, &self.validity.0) {
            (0, None) => 0,
            (0, Some(bits)) => bits.count,
            (size, _) => self.data.len() / size,
        }
    }

    fn truncate(&mut self, rows: usize) {
        self.data.truncate(rows * self.size);
        self.validity.truncate(rows);
    }

    fn push_null(&mut self) {
        self.validity.push(false, self.rows());
        self.data.resize(self.data.len() + self.size, 0);
    }

    fn push(&mut self, bytes: &[u8]) -> Outcome<()> {
        if bytes.len() != self.size {
            return Err(Irregular::HERE);
        }
        if self.size == 0 {
            self.validity.0.get_or_insert_default().push(true);
        } else {
            self.validity.push(true, self.rows());
        }
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    fn push_bytes(&mut self, bytes: &[u8], form: Option<&Conversion>) -> Outcome<()> {
        match (self.meaning, form) {
            (FixedMeaning::Bytes, None) => self.push(bytes),
            (FixedMeaning::Uuid, Some(form)) if matches!(form.form(), Form::UuidBytes) => self.push(bytes),
            (FixedMeaning::Decimal { precision, scale }, Some(form)) => {
                let unscaled = form.unscaled_in(bytes, scale)?;
                if 10_i128.checked_pow(precision).is_some_and(|limit| unscaled.abs_diff(0) >= limit.unsigned_abs()) {
                    return Err(Irregular::HERE);
                }
                self.push_decimal(unscaled)
            }
            _ => Err(Irregular::HERE),
        }
    }

    fn push_decimal(&mut self, unscaled: i128) -> Outcome<()> {
        let low = unscaled.to_ne_bytes();
        if self.size == DECIMAL_128 {
            return self.push(&low);
        }
        let mut wide = [if unscaled < 0 { u8::MAX } else { 0 }; DECIMAL_256];
        let place = if cfg!(target_endian = "little") { 0 } else { DECIMAL_256 - low.len() };
        wide.get_mut(place..).and_then(|rest| rest.first_chunk_mut()).map(|part| *part = low).or_irregular()?;
        self.push(&wide)
    }
}

impl List {
    fn close(&mut self) -> Outcome<()> {
        let rows = self.offsets.count();
        self.offsets.push(self.items.count())?;
        self.validity.push(true, rows);
        Ok(())
    }
}

impl Map {
    fn close(&mut self) -> Outcome<()> {
        let rows = self.offsets.count();
        self.offsets.push(self.keys.count())?;
        self.validity.push(true, rows);
        Ok(())
    }
}

impl Struct {
    #[inline]
    fn close(&mut self) {
        self.validity.push(true, self.rows);
        self.rows += 1;
    }

    fn column(&mut self, number: usize) -> Outcome<&mut Column> {
        self.columns.get_mut(number).map(|(_, column)| column).or_irregular()
    }
}

impl Union {
    /// Add the number of a branch, and return the branch for the value.
    fn branch(&mut self, number: usize) -> Outcome<&mut Column> {
        let branch = self.branches.get_mut(number).or_irregular()?;
        let place = i32::try_from(branch.count()).or_irregular()?;
        self.numbers.push(u8::try_from(number).or_irregular()?);
        self.places.extend_from_slice(&place.to_ne_bytes());
        Ok(branch)
    }

    fn truncate(&mut self, rows: usize) {
        self.numbers.truncate(rows);
        self.places.truncate(rows * OFFSET_BYTES);
        for (number, branch) in self.branches.iter_mut().enumerate() {
            let kept = self.numbers.iter().filter(|one| usize::from(**one) == number).count();
            branch.truncate(kept);
        }
    }
}

// --- the walk over a message -------------------------------------------------------------------------------------

fn read(
    py: Python<'_>,
    decoder: &Decoder,
    node: NodeNumber,
    column: &mut Column,
    message: &mut Message<'_>,
) -> Outcome<()> {
    match (decoder.nodes.get(node).or_irregular()?, column) {
        (Node::Null, column) => column.push_null(),
        (Node::Boolean, Column::Boolean(bits, validity)) => {
            let bit = match message.array()? {
                [0] => false,
                [1] => true,
                _ => return Err(Irregular::HERE),
            };
            validity.push(true, bits.count);
            bits.push(bit);
            Ok(())
        }
        (Node::Int(form), Column::Number(column)) => column.push_integer(message.int()?, form.as_ref()),
        (Node::Long(form), Column::Number(column)) => column.push_integer(message.long()?, form.as_ref()),
        (Node::Float, Column::Number(column)) => column.push_real(f64::from(f32::from_le_bytes(message.array()?))),
        (Node::Double, Column::Number(column)) => column.push_real(f64::from_le_bytes(message.array()?)),
        (Node::Bytes(form), column) => column.push_bytes(message.sized()?, form.as_ref()),
        (Node::Text(form), column) => column.push_text(message.sized()?, form.as_ref()),
        (Node::Fixed(size, form), column) => column.push_bytes(message.take(*size)?, form.as_ref()),
        (Node::RawText(form), column) => column.push_text(message.take_rest(), form.as_ref()),
        (Node::RawBytes(form), column) => column.push_bytes(message.take_rest(), form.as_ref()),
        (Node::Enum(values), Column::Sized(column)) if column.is_text => {
            let value = values.get(message.size()?).or_irregular()?.as_ref().or_irregular()?;
            column.push(value.bind(py).to_str()?.as_bytes())
        }
        (Node::Union(branches), column) => {
            read(py, decoder, *branches.get(message.size()?).or_irregular()?, column, message)
        }
        (Node::Array(items, smallest), Column::List(column)) => {
            message.enter()?;
            loop {
                let count = message.block(*smallest, false)?;
                if count == 0 {
                    break;
                }
                for _ in 0..count {
                    read(py, decoder, *items, &mut column.items, message)?;
                }
            }
            message.leave();
            column.close()
        }
        (Node::Map(values), Column::Map(column)) => {
            message.enter()?;
            read_map(py, decoder, *values, column, message)?;
            message.leave();
            column.close()
        }
        (Node::Record(record), Column::Struct(column)) => {
            message.enter()?;
            read_record(py, decoder, record, column, message)?;
            message.leave();
            column.close();
            Ok(())
        }
        (Node::Record(record), Column::Union(column)) => {
            let [field] = record.fields.as_slice() else { return Err(Irregular::HERE) };
            read(py, decoder, field.node, column.branch(field.column.or_irregular()?)?, message)
        }
        _ => Err(Irregular::HERE),
    }
}

/// Read the entries of a map; of those with the same key the last one remains, as in a dict.
fn read_map(
    py: Python<'_>,
    decoder: &Decoder,
    values: NodeNumber,
    column: &mut Map,
    message: &mut Message<'_>,
) -> Outcome<()> {
    let mut seen: Vec<&[u8]> = Vec::new();
    loop {
        let count = message.block(1, false)?;
        if count == 0 {
            break;
        }
        for _ in 0..count {
            let key = message.sized()?;
            seen.push(key);
            column.keys.push_text(key, None)?;
            read(py, decoder, values, &mut column.values, message)?;
        }
    }
    seen.sort_unstable();
    if seen.windows(2).any(|pair| matches!(pair, [one, next] if one == next)) {
        return Err(Irregular::HERE);
    }
    Ok(())
}

fn read_record(
    py: Python<'_>,
    decoder: &Decoder,
    record: &Record,
    column: &mut Struct,
    message: &mut Message<'_>,
) -> Outcome<()> {
    message.weigh(record.unpaid)?;
    for field in &record.fields {
        match field.column {
            Some(number) => read(py, decoder, field.node, column.column(number)?, message)?,
            None => decoder.skip(field.node, message)?,
        }
    }
    for (number, default) in &record.filled {
        column.column(*number)?.push_value(default.bind(py))?;
    }
    Ok(())
}
