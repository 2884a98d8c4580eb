
// Calls the submission's entry point with arguments that come as JSON, one line a case, and writes each result as JSON.
// Nothing here knows what a result should be. This module stands behind the submission, in its file.
#[allow(warnings)]
mod verifier_driver {
    use ::std::cell::{Cell, RefCell};
    use ::std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
    use ::std::io::{Read, Write};
    use ::std::rc::Rc;

    const MOST_NODES: usize = 200000;

    ::std::thread_local! {
        static CASE: Cell<usize> = Cell::new(0);
        static ARGUMENT: Cell<usize> = Cell::new(0);
        // How to write the arguments that the call may change.
        static KEPT: RefCell<Vec<(usize, Box<dyn Fn(&mut String)>)>> = RefCell::new(Vec::new());
    }

    fn report(kind: &str, json: &str) {
        let line = ::std::format!("\n\x1everifier-driver {} {} {}\n", CASE.with(|case| case.get()), kind, json);
        let mut out = ::std::io::stdout().lock();
        let _ = out.write_all(line.as_bytes());
        let _ = out.flush();
    }

    fn give_up(kind: &str, why: &str) -> ! {
        let mut json = String::new();
        why.written(&mut json);
        report(kind, &json);
        ::std::process::exit(1)
    }

    // ---- JSON in

    pub enum Json {
        Null,
        Bool(bool),
        Number(String),
        Text(String),
        Array(Vec<Json>),
        Object(Vec<(String, Json)>),
    }

    struct Parser<'a> {
        text: &'a [u8],
        at: usize,
    }

    impl<'a> Parser<'a> {
        fn peek(&mut self) -> u8 {
            while self.at < self.text.len() && self.text[self.at] == b' ' {
                self.at += 1;
            }
            *self.text.get(self.at).unwrap_or(&b']')
        }
        fn take(&mut self, wanted: u8) -> bool {
            let found = self.peek() == wanted;
            self.at += found as usize;
            found
        }
        fn value(&mut self) -> Json {
            match self.peek() {
                b'"' => Json::Text(self.string()),
                b'[' => {
                    self.at += 1;
                    let mut items = Vec::new();
                    while !self.take(b']') {
                        items.push(self.value());
                        self.take(b',');
                    }
                    Json::Array(items)
                }
                b'{' => {
                    self.at += 1;
                    let mut items = Vec::new();
                    while !self.take(b'}') {
                        self.peek();
                        let name = self.string();
                        self.take(b':');
                        items.push((name, self.value()));
                        self.take(b',');
                    }
                    Json::Object(items)
                }
                _ => {
                    let start = self.at;
                    while self.at < self.text.len() && !b",]} ".contains(&self.text[self.at]) {
                        self.at += 1;
                    }
                    match &self.text[start..self.at] {
                        b"null" => Json::Null,
                        b"true" => Json::Bool(true),
                        b"false" => Json::Bool(false),
                        word => Json::Number(String::from_utf8_lossy(word).into_owned()),
                    }
                }
            }
        }
        fn hex4(&mut self) -> u32 {
            let digits = ::std::str::from_utf8(&self.text[self.at..self.at + 4]).unwrap_or("fffd");
            self.at += 4;
            u32::from_str_radix(digits, 16).unwrap_or(0xfffd)
        }
        fn string(&mut self) -> String {
            let mut out: Vec<u8> = Vec::new();
            self.at += 1;
            loop {
                let byte = self.text[self.at];
                self.at += 1;
                if byte == b'"' {
                    return String::from_utf8_lossy(&out).into_owned();
                }
                if byte != b'\\' {
                    out.push(byte);
                    continue;
                }
                let escape = self.text[self.at];
                self.at += 1;
                match escape {
                    b'n' => out.push(b'\n'),
                    b't' => out.push(b'\t'),
                    b'r' => out.push(b'\r'),
                    b'b' => out.push(8),
                    b'f' => out.push(12),
                    b'u' => {
                        let mut code = self.hex4();
                        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                            self.at += 2;
                            code = 0x10000 + ((code - 0xd800) << 10) + self.hex4().wrapping_sub(0xdc00);
                        }
                        let mut bytes = [0; 4];
                        out.extend_from_slice(char::from_u32(code).unwrap_or('\u{fffd}').encode_utf8(&mut bytes).as_bytes());
                    }
                    other => out.push(other),
                }
            }
        }
    }

    // ---- arguments of their types

    pub struct Args {
        items: ::std::vec::IntoIter<Json>,
    }

    pub type Fit<T> = Result<T, String>;

    fn unfit<T>(wanted: &str) -> Fit<T> {
        Err(wanted.to_string())
    }

    /// What JSON can give. `take` gives a parameter of the call.
    pub trait Given: Sized {
        fn given(json: Json) -> Fit<Self>;
        fn take(args: &mut Args) -> Fit<Self> {
            ARGUMENT.with(|argument| argument.set(argument.get() + 1));
            match args.items.next() {
                Some(json) => Self::given(json),
                None => unfit("anything: it is not there"),
            }
        }
        /// Whether an `Option` of this is None.
        fn absent(json: &Json) -> bool {
            match json {
                Json::Null => true,
                _ => false,
            }
        }
    }

    macro_rules! integers {
        ($($kind:ident)*) => {$(
            impl Given for $kind {
                fn given(json: Json) -> Fit<Self> {
                    if let Json::Number(text) = json {
                        if let Ok(value) = text.parse::<$kind>() {
                            return Ok(value);
                        }
                        let float = text.parse::<f64>().unwrap_or(0.5);
                        let integral = text.contains(|c| c == '.' || c == 'e' || c == 'E') && float.fract() == 0.0;
                        if integral && float.abs() < 9e18 && (float as i128) as $kind as i128 == float as i128 {
                            return Ok((float as i128) as $kind);
                        }
                    }
                    unfit(::std::stringify!($kind))
                }
            }
            impl Written for $kind {
                fn written(&self, out: &mut String) {
                    out.push_str(&self.to_string());
                }
            }
            impl Key for $kind {
                fn name(&self) -> String {
                    self.to_string()
                }
                fn of(name: String) -> Fit<Self> {
                    Self::given(Json::Number(name))
                }
            }
        )*};
    }
    integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

    macro_rules! floats {
        ($($kind:ident)*) => {$(
            impl Given for $kind {
                fn given(json: Json) -> Fit<Self> {
                    match json {
                        Json::Number(text) => text.parse::<$kind>().map_err(|_| ::std::stringify!($kind).to_string()),
                        _ => unfit(::std::stringify!($kind)),
                    }
                }
            }
            impl Written for $kind {
                fn written(&self, out: &mut String) {
                    match self {
                        value if value.is_nan() => out.push_str("NaN"),
                        value if value.is_infinite() => out.push_str(if *value > 0.0 { "Infinity" } else { "-Infinity" }),
                        value => out.push_str(&::std::format!("{:e}", value)),
                    }
                }
            }
        )*};
    }
    floats!(f32 f64);

    impl Given for bool {
        fn given(json: Json) -> Fit<Self> {
            match json {
                Json::Bool(value) => Ok(value),
                _ => unfit("bool"),
            }
        }
    }

    impl Given for char {
        fn given(json: Json) -> Fit<Self> {
            match json {
                Json::Text(text) if text.chars().count() == 1 => Ok(text.chars().next().unwrap_or(' ')),
                _ => unfit("char"),
            }
        }
    }

    impl Given for String {
        fn given(json: Json) -> Fit<Self> {
            match json {
                Json::Text(text) => Ok(text),
                _ => unfit("String"),
            }
        }
    }

    impl Given for &'static str {
        fn given(json: Json) -> Fit<Self> {
            Ok(Box::leak(String::given(json)?.into_boxed_str()))
        }
    }

    fn items<T: Given>(json: Json, wanted: &str) -> Fit<Vec<T>> {
        match json {
            Json::Array(items) => items.into_iter().map(T::given).collect(),
            _ => unfit(wanted),
        }
    }

    impl<T: Given> Given for Vec<T> {
        fn given(json: Json) -> Fit<Self> {
            items(json, "Vec")
        }
    }

    impl<T: Given> Given for VecDeque<T> {
        fn given(json: Json) -> Fit<Self> {
            Ok(items(json, "VecDeque")?.into())
        }
    }

    impl<T: Given + Eq + ::std::hash::Hash> Given for HashSet<T> {
        fn given(json: Json) -> Fit<Self> {
            Ok(items(json, "HashSet")?.into_iter().collect())
        }
    }

    impl<T: Given + Ord> Given for BTreeSet<T> {
        fn given(json: Json) -> Fit<Self> {
            Ok(items(json, "BTreeSet")?.into_iter().collect())
        }
    }

    impl<T: Given, const N: usize> Given for [T; N] {
        fn given(json: Json) -> Fit<Self> {
            items(json, "an array")?.try_into().map_err(|_| "an array of this size".to_string())
        }
    }

    impl<T: Given + 'static> Given for &'static [T] {
        fn given(json: Json) -> Fit<Self> {
            Ok(Vec::leak(items(json, "a slice")?))
        }
    }

    fn keep<T: Written + ?Sized + 'static>(place: *const T) {
        let index = ARGUMENT.with(|argument| argument.get());
        let write = move |out: &mut String| unsafe { (*place).written(out) };
        KEPT.with(|kept| kept.borrow_mut().push((index, Box::new(write))));
    }

    impl<T: Given + Written + 'static> Given for &'static mut [T] {
        fn given(json: Json) -> Fit<Self> {
            let slice = Vec::leak(items::<T>(json, "a slice")?);
            keep(slice as *const [T]);
            Ok(slice)
        }
    }

    impl<T: Given + 'static> Given for &'static T {
        fn given(json: Json) -> Fit<Self> {
            Ok(Box::leak(Box::new(T::given(json)?)))
        }
        fn take(args: &mut Args) -> Fit<Self> {
            Ok(Box::leak(Box::new(T::take(args)?)))
        }
    }

    impl<T: Given + Written + 'static> Given for &'static mut T {
        fn given(json: Json) -> Fit<Self> {
            let value = Box::leak(Box::new(T::given(json)?));
            keep(value as *const T);
            Ok(value)
        }
        fn take(args: &mut Args) -> Fit<Self> {
            let value = Box::leak(Box::new(T::take(args)?));
            keep(value as *const T);
            Ok(value)
        }
    }

    impl<T: Given> Given for Box<T> {
        fn given(json: Json) -> Fit<Self> {
            Ok(Box::new(T::given(json)?))
        }
        fn absent(json: &Json) -> bool {
            T::absent(json)
        }
    }

    impl<T: Given> Given for Option<T> {
        fn given(json: Json) -> Fit<Self> {
            if T::absent(&json) {
                return Ok(None);
            }
            Ok(Some(T::given(json)?))
        }
    }
