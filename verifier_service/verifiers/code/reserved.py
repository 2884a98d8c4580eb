"""Words that no function can be called, language by language: an entry point of such a name is a fault of the task."""

from __future__ import annotations

import keyword

_C_FAMILY = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "return short signed sizeof static struct switch typedef union unsigned void volatile while"
)
_CPP = (
    f"{_C_FAMILY} alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl const_cast constexpr "
    "decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or "
    "or_eq private protected public reinterpret_cast static_assert static_cast template this thread_local throw true try "
    "typeid typename using virtual wchar_t xor xor_eq"
)
_SCRIPT = (
    "break case catch class const continue debugger default delete do else enum export extends false finally for function if "
    "import in instanceof new null return super switch this throw true try typeof var void while with"
)
_JAVA = (
    "abstract assert boolean break byte case catch char class const continue default do double else enum extends final "
    "finally float for goto if implements import instanceof int interface long native new package private protected public "
    "return short static strictfp super switch synchronized this throw throws transient try void volatile while true false "
    "null _"
)
_GO = (
    "break case chan const continue default defer else fallthrough for func go goto if import interface map package range "
    "return select struct switch type var _ init"
)
_RUST = (
    "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub "
    "ref return self Self static struct super trait true type unsafe use where while abstract become box do final macro "
    "override priv try typeof unsized virtual yield _"
)

RESERVED: dict[str, frozenset[str]] = {
    "python": frozenset(keyword.kwlist),
    "cpp": frozenset(_CPP.split()),
    "cpp20": frozenset(f"{_CPP} char8_t concept consteval constinit co_await co_return co_yield requires".split()),
    "java": frozenset(_JAVA.split()),
    "javascript": frozenset(_SCRIPT.split()),
    "typescript": frozenset(_SCRIPT.split()),
    "go": frozenset(_GO.split()),
    "rust": frozenset(_RUST.split()),
}
