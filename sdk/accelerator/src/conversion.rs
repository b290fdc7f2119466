//! Logical types: conversion of the number or bytes in a message to a Python value, and back.
//!
//! Each form repeats the module `serde/avro/logical_types.py` of `counterfoil.sdk` for the usual values; for others the
//! functions of that module are called.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyAny, PyBytes, PyDate, PyDateAccess, PyDateTime, PyFloat, PyInt, PyString, PyTime, PyTimeAccess, PyTuple, PyType,
    PyTzInfo, PyTzInfoAccess,
};

use crate::nodes::{part, unknown};
use crate::outcome::{Irregular, OrIrregular, Outcome};

const DAY_S: i64 = 24 * 60 * 60;
const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = DAY_S * SECOND_US;
const NANOS: i64 = 1000;
const UUID_DIGITS: usize = 32;
const WIDE: usize = size_of::<i128>();

/// A logical type on its base type.
#[derive(Clone, Copy)]
pub enum Form {
    Date,
    /// `unit_us` is the number of microseconds of the unit; `is_exact` leaves values with a loss to the Python code,
    /// which refuses them.
    Time {
        unit_us: i64,
        is_exact: bool,
    },
    Timestamp {
        unit_us: i64,
        is_exact: bool,
    },
    LocalTimestamp {
        unit_us: i64,
        is_exact: bool,
    },
    Nanos,
    LocalNanos {
        is_exact: bool,
    },
    /// `size` is that of a fixed.
    Decimal {
        precision: u32,
        scale: u32,
        size: Option<usize>,
    },
    UuidText,
    UuidBytes,
    /// A reader's float or double of a writer's int or long.
    Float,
    /// Any other, which the functions of the Python module convert.
    Python,
}

/// How one logical type is read and written.
pub struct Conversion {
    form: Form,
    decode: Py<PyAny>,
    encode: Py<PyAny>,
    limit: Option<usize>,
}

impl Conversion {
    /// Read `(form, decode, encode, limit of the size in bytes)`, where a form is its name and its numbers.
    pub fn from_node(node: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let form: Bound<'_, PyTuple> = part(node, 0)?;
        let name: String = part(&form, 0)?;
        let form = match name.as_str() {
            "date" => Form::Date,
            "time" => Form::Time { unit_us: part(&form, 1)?, is_exact: part(&form, 2)? },
            "timestamp" => Form::Timestamp { unit_us: part(&form, 1)?, is_exact: part(&form, 2)? },
            "local-timestamp" => Form::LocalTimestamp { unit_us: part(&form, 1)?, is_exact: part(&form, 2)? },
            "nanos" => Form::Nanos,
            "local-nanos" => Form::LocalNanos { is_exact: part(&form, 1)? },
            "decimal" => Form::Decimal { precision: part(&form, 1)?, scale: part(&form, 2)?, size: part(&form, 3)? },
            "uuid-text" => Form::UuidText,
            "uuid-bytes" => Form::UuidBytes,
            "float" => Form::Float,
            "python" => Form::Python,
            other => return Err(unknown("logical type", other)),
        };
        Ok(Self { form, decode: part(node, 1)?, encode: part(node, 2)?, limit: part(node, 3)? })
    }

    /// The logical type.
    pub fn form(&self) -> Form {
        self.form
    }

    // --- reading -------------------------------------------------------------------------------------------------

    /// Return the value of a number in a message.
    pub fn value_of_number<'py>(&self, py: Python<'py>, number: i64) -> Outcome<Bound<'py, PyAny>> {
        match self.form {
            Form::Date => {
                let (year, month, day) = date_of(number)?;
                Ok(PyDate::new(py, year, month, day)?.into_any())
            }
            Form::Time { unit_us, .. } => {
                let clock = Clock::of(number.checked_mul(unit_us).or_irregular()?)?;
                Ok(PyTime::new(py, clock.hour, clock.minute, clock.second, clock.microsecond, None)?.into_any())
            }
            Form::Timestamp { unit_us, .. } => instant(py, number, unit_us, Some(&*PyTzInfo::utc(py)?)),
            Form::LocalTimestamp { unit_us, .. } => instant(py, number, unit_us, None),
            Form::Nanos | Form::LocalNanos { .. } => Ok(PyInt::new(py, number).into_any()),
            #[expect(clippy::cast_precision_loss, reason = "Avro promotes a long to a double, the nearest one")]
            Form::Float => Ok(PyFloat::new(py, number as f64).into_any()),
            Form::Python => Ok(self.decode.bind(py).call1((number,))?),
            _ => Err(Irregular::HERE),
        }
    }

    /// Return the value of bytes in a message.
    pub fn value_of_bytes<'py>(&self, py: Python<'py>, bytes: &[u8]) -> Outcome<Bound<'py, PyAny>> {
        if self.limit.is_some_and(|limit| bytes.len() > limit) {
            return Err(Irregular::HERE);
        }
        match self.form {
            Form::Decimal { scale, .. } => match signed(bytes) {
                Some(unscaled) => {
                    let text = PyString::new(py, &format!("{unscaled}E-{scale}"));
                    Ok(python_class(py, &DECIMAL, "decimal", "Decimal")?.call1((text,))?)
                }
                None => Ok(self.decode.bind(py).call1((PyBytes::new(py, bytes),))?),
            },
            Form::UuidBytes => uuid(py, u128::from_be_bytes(bytes.try_into().or_irregular()?)),
            Form::Python => Ok(self.decode.bind(py).call1((PyBytes::new(py, bytes),))?),
            _ => Err(Irregular::HERE),
        }
    }

    /// Return the value of text in a message.
    pub fn value_of_text<'py>(&self, py: Python<'py>, bytes: &[u8]) -> Outcome<Bound<'py, PyAny>> {
        match (self.form, uuid_in(bytes)) {
            (Form::UuidText, Some(number)) => uuid(py, number),
            (Form::UuidText, None) => Ok(self.decode.bind(py).call1((PyString::from_bytes(py, bytes)?,))?),
            _ => Err(Irregular::HERE),
        }
    }

    // --- columns -------------------------------------------------------------------------------------------------

    /// Return the bytes of a UUID that is written as text.
    pub fn uuid_of_text(&self, text: &[u8]) -> Outcome<[u8; size_of::<u128>()]> {
        match self.form {
            Form::UuidText => uuid_in(text).map(u128::to_be_bytes).or_irregular(),
            _ => Err(Irregular::HERE),
        }
    }

    /// Return the unscaled number of a decimal of this scale.
    pub fn unscaled_in(&self, bytes: &[u8], wanted: u32) -> Outcome<i128> {
        match self.form {
            Form::Decimal { scale, .. } if scale == wanted => signed(bytes).or_irregular(),
            _ => Err(Irregular::HERE),
        }
    }

    // --- writing -------------------------------------------------------------------------------------------------

    /// Return the number that a value is written as.
    pub fn number_of(&self, value: &Bound<'_, PyAny>) -> Outcome<i64> {
        if let Ok(number) = value.cast_exact::<PyInt>() {
            return Ok(number.extract()?);
        }
        let found = match self.form {
            Form::Date => value.cast_exact::<PyDate>().ok().map(days_of),
            Form::Time { unit_us, is_exact } => match value.cast_exact::<PyTime>() {
                Ok(time) if is_exact && time.get_tzinfo().is_some() => return Err(Irregular::HERE),
                Ok(time) => Some(in_units(clock_us(time), unit_us, is_exact)?),
                Err(_) => None,
            },
            Form::Timestamp { unit_us, is_exact } => {
                utc_us(value)?.map(|us| in_units(us, unit_us, is_exact)).transpose()?
            }
            Form::LocalTimestamp { unit_us, is_exact } => {
                local_us(value, is_exact)?.map(|us| in_units(us, unit_us, is_exact)).transpose()?
            }
            Form::Nanos => utc_us(value)?.map(|us| us.checked_mul(NANOS).or_irregular()).transpose()?,
            Form::LocalNanos { is_exact } => {
                local_us(value, is_exact)?.map(|us| us.checked_mul(NANOS).or_irregular()).transpose()?
            }
            _ => None,
        };
        match found {
            Some(number) => Ok(number),
            None => {
                Ok(self.encode.bind(value.py()).call1((value,))?.cast_exact::<PyInt>().or_irregular()?.extract()?)
            }
        }
    }

    /// Call `write` with the bytes that a value is written as.
    pub fn with_bytes_of<T>(&self, value: &Bound<'_, PyAny>, write: impl FnOnce(&[u8]) -> Outcome<T>) -> Outcome<T> {
        let py = value.py();
        match self.form {
            Form::Decimal { precision, scale, size } if size.is_none_or(|size| size <= WIDE) => {
                if let Some(unscaled) = unscaled_of(value, precision, scale)? {
                    return write(signed_bytes(&unscaled.to_be_bytes(), unscaled, size)?);
                }
            }
            Form::UuidBytes if value.get_type().is(python_class(py, &UUID, "uuid", "UUID")?) => {
                return write(&uuid_number(value)?.to_be_bytes());
            }
            _ => {}
        }
        let encoded = self.encode.bind(py).call1((value,))?;
        write(encoded.cast_exact::<PyBytes>().or_irregular()?.as_bytes())
    }

    /// Call `write` with the text that a value is written as.
    pub fn with_text_of<T>(&self, value: &Bound<'_, PyAny>, write: impl FnOnce(&[u8]) -> Outcome<T>) -> Outcome<T> {
        let py = value.py();
        if matches!(self.form, Form::UuidText) && value.get_type().is(python_class(py, &UUID, "uuid", "UUID")?) {
            return write(&uuid_text(uuid_number(value)?));
        }
        let encoded = self.encode.bind(py).call1((value,))?;
        write(encoded.cast::<PyString>().or_irregular()?.to_str()?.as_bytes())
    }
}

static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn python_class<'py>(
    py: Python<'py>,
    known: &'py PyOnceLock<Py<PyType>>,
    module: &str,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    known.import(py, module, name)
}

// --- dates and times: days and microseconds since 1970 -----------------------------------------------------------

/// Return year, month and day of the day `days` after 1970-01-01, by the algorithm of Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms" (2021), `civil_from_days`.
fn date_of(days: i64) -> Outcome<(i32, u8, u8)> {
    const TOO_FAR: i64 = 10_000 * 366;
    if !(-TOO_FAR..TOO_FAR).contains(&days) {
        return Err(Irregular::HERE);
    }
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if !(1..=9999).contains(&year) {
        return Err(Irregular::HERE);
    }
    Ok((i32::try_from(year).or_irregular()?, u8::try_from(month).or_irregular()?, u8::try_from(day).or_irregular()?))
}

/// Return the days from 1970-01-01 to a date, by `days_from_civil` of the same source.
fn days_of(date: &impl PyDateAccess) -> i64 {
    let (month, day) = (i64::from(date.get_month()), i64::from(date.get_day()));
    let year = i64::from(date.get_year()) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Return the number of a day that `datetime.date` has.
pub fn checked_day(days: i64) -> Outcome<i64> {
    date_of(days)?;
    Ok(days)
}

/// Return the microseconds of a time of day that `datetime.time` has.
pub fn checked_time_us(number: i64, unit_us: i64) -> Outcome<i64> {
    number.checked_mul(unit_us).filter(|us| (0..DAY_US).contains(us)).or_irregular()
}

/// Return the microseconds of an instant that `datetime.datetime` has.
pub fn checked_instant_us(number: i64, unit_us: i64) -> Outcome<i64> {
    const FIRST_DAY: i64 = -719_162;
    const AFTER_LAST_DAY: i64 = 2_932_897;
    number.checked_mul(unit_us).filter(|us| (FIRST_DAY * DAY_US..AFTER_LAST_DAY * DAY_US).contains(us)).or_irregular()
}

/// A time of day.
struct Clock {
    hour: u8,
    minute: u8,
    second: u8,
    microsecond: u32,
}

impl Clock {
    /// Return the time of day after so many microseconds.
    fn of(microseconds: i64) -> Outcome<Self> {
        if !(0..DAY_US).contains(&microseconds) {
            return Err(Irregular::HERE);
        }
        let seconds = microseconds / SECOND_US;
        Ok(Self {
            hour: u8::try_from(seconds / 3600).or_irregular()?,
            minute: u8::try_from(seconds / 60 % 60).or_irregular()?,
            second: u8::try_from(seconds % 60).or_irregular()?,
            microsecond: u32::try_from(microseconds % SECOND_US).or_irregular()?,
        })
    }
}

fn instant<'py>(
    py: Python<'py>,
    number: i64,
    unit_us: i64,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> Outcome<Bound<'py, PyAny>> {
    let microseconds = number.checked_mul(unit_us).or_irregular()?;
    let (year, month, day) = date_of(microseconds.div_euclid(DAY_US))?;
    let Clock { hour, minute, second, microsecond } = Clock::of(microseconds.rem_euclid(DAY_US))?;
    Ok(PyDateTime::new(py, year, month, day, hour, minute, second, microsecond, zone)?.into_any())
}

fn clock_us(time: &impl PyTimeAccess) -> i64 {
    let minutes = i64::from(time.get_hour()) * 60 + i64::from(time.get_minute());
    (minutes * 60 + i64::from(time.get_second())) * SECOND_US + i64::from(time.get_microsecond())
}

/// Return the microseconds of a `datetime` that is in UTC; `None` for every other value.
fn utc_us(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let Ok(instant) = value.cast_exact::<PyDateTime>() else { return Ok(None) };
    let utc = PyTzInfo::utc(value.py())?;
    Ok(instant.get_tzinfo().filter(|zone| zone.is(utc)).map(|_| shown_us(instant)))
}

/// Return the microseconds of what a `datetime` shows; `None` for every other value. One with a zone is irregular if
/// `is_exact`, and otherwise its zone is ignored.
fn local_us(value: &Bound<'_, PyAny>, is_exact: bool) -> Outcome<Option<i64>> {
    match value.cast_exact::<PyDateTime>() {
        Ok(shown) if is_exact && shown.get_tzinfo().is_some() => Err(Irregular::HERE),
        Ok(shown) => Ok(Some(shown_us(shown))),
        Err(_) => Ok(None),
    }
}

fn shown_us(shown: &(impl PyDateAccess + PyTimeAccess)) -> i64 {
    days_of(shown) * DAY_US + clock_us(shown)
}

/// Return how many whole units microseconds are; if `is_exact`, a rest is irregular. The usual units are constants, which
/// the compiler divides by without a division.
#[inline]
fn in_units(us: i64, unit_us: i64, is_exact: bool) -> Outcome<i64> {
    let (whole, rest) = match unit_us {
        1 => return Ok(us),
        1000 => (us.div_euclid(1000), us.rem_euclid(1000)),
        _ => (us.div_euclid(unit_us), us.rem_euclid(unit_us)),
    };
    if is_exact && rest != 0 {
        return Err(Irregular::HERE);
    }
    Ok(whole)
}

// --- decimal -----------------------------------------------------------------------------------------------------

/// Return a number in two's complement; `None` if it has more than [`WIDE`] bytes.
fn signed(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first().is_some_and(|first| *first >= 0x80) { 0xff } else { 0 };
    let mut wide = [sign; WIDE];
    wide.get_mut(WIDE.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

/// Return the bytes of a number in two's complement: `size` of them, or as many as the Python code writes.
fn signed_bytes(wide: &[u8; WIDE], number: i128, size: Option<usize>) -> Outcome<&[u8]> {
    let bits = u128::BITS - number.unsigned_abs().leading_zeros();
    let needed = bits as usize / 8 + 1;
    let size = size.unwrap_or(needed);
    if size < needed {
        return Err(Irregular::HERE);
    }
    wide.get(WIDE.checked_sub(size).or_irregular()?..).or_irregular()
}

/// Return the unscaled number of a `Decimal` that fits precision and scale; `None` for values left to `encode`.
fn unscaled_of(value: &Bound<'_, PyAny>, precision: u32, scale: u32) -> Outcome<Option<i128>> {
    if !value.get_type().is(python_class(value.py(), &DECIMAL, "decimal", "Decimal")?) {
        return Ok(None);
    }
    let text = value.str()?;
    Ok(unscaled_in(text.to_str()?, precision, scale))
}

/// Return the unscaled number of `-12.50` or `1.25E+3` at a scale, if it is exact and has no more digits than allowed.
fn unscaled_in(text: &str, precision: u32, scale: u32) -> Option<i128> {
    let (digits, exponent) = text.split_once(['E', 'e']).unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let (is_negative, whole) = whole.strip_prefix('-').map_or((false, whole), |rest| (true, rest));
    let mut number = 0_i128;
    for digit in whole.bytes().chain(fraction.bytes()) {
        number = number.checked_mul(10)?.checked_add(i128::from(digit.checked_sub(b'0').filter(|one| *one < 10)?))?;
    }
    if number != 0 {
        let shift = exponent.checked_add(i64::from(scale))?;
        let power = 10_i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
        if shift >= 0 {
            number = number.checked_mul(power)?;
        } else if number % power == 0 {
            number /= power;
        } else {
            return None;
        }
    }
    if 10_i128.checked_pow(precision).is_some_and(|limit| number >= limit) {
        return None;
    }
    Some(if is_negative { -number } else { number })
}

// --- uuid --------------------------------------------------------------------------------------------------------

/// Return a `uuid.UUID`, with its two attributes set as the class itself sets them.
fn uuid(py: Python<'_>, number: u128) -> Outcome<Bound<'_, PyAny>> {
    static MAKER: PyOnceLock<UuidMaker> = PyOnceLock::new();
    let maker = MAKER.get_or_try_init(py, || UuidMaker::new(py))?;
    let value = maker.new.bind(py).call1((maker.class.bind(py),))?;
    maker.set_int.bind(py).call1((&value, number))?;
    maker.set_is_safe.bind(py).call1((&value, &maker.unknown))?;
    Ok(value)
}

struct UuidMaker {
    class: Py<PyAny>,
    new: Py<PyAny>,
    set_int: Py<PyAny>,
    set_is_safe: Py<PyAny>,
    unknown: Py<PyAny>,
}

impl UuidMaker {
    fn new(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("uuid")?;
        let class = module.getattr("UUID")?;
        Ok(Self {
            new: class.getattr("__new__")?.unbind(),
            set_int: class.getattr("int")?.getattr("__set__")?.unbind(),
            set_is_safe: class.getattr("is_safe")?.getattr("__set__")?.unbind(),
            unknown: module.getattr("SafeUUID")?.getattr("unknown")?.unbind(),
            class: class.unbind(),
        })
    }
}

fn uuid_number(value: &Bound<'_, PyAny>) -> PyResult<u128> {
    value.getattr(pyo3::intern!(value.py(), "int"))?.extract()
}

/// Return the number of 32 hexadecimal digits with any dashes between them; `None` for other spellings.
fn uuid_in(text: &[u8]) -> Option<u128> {
    let mut number = 0_u128;
    let mut digits = 0;
    for byte in text.iter().filter(|byte| **byte != b'-') {
        number = number << 4 | u128::from(char::from(*byte).to_digit(16)?);
        digits += 1;
    }
    (digits == UUID_DIGITS).then_some(number)
}

/// Return the usual spelling of a UUID.
fn uuid_text(number: u128) -> [u8; UUID_DIGITS + 4] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut nibbles = number.to_be_bytes().into_iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    std::array::from_fn(|place| match place {
        8 | 13 | 18 | 23 => b'-',
        _ => nibbles.next().and_then(|nibble| DIGITS.get(usize::from(nibble)).copied()).unwrap_or(b'0'),
    })
}
