namespace verifier_fallback {  // where the submission has none of these, `::` finds them by the directive below
struct Solution {};
extern verifier_driver::Absent ENTRY_POINT;
}
using namespace verifier_fallback;

namespace verifier_driver {
struct VerifierFind {
    template <class verifier_a> static auto function(verifier_a verifier_x) -> decltype(signature(verifier_x, &::ENTRY_POINT));
    template <class verifier_a> static auto functions(verifier_a verifier_x) -> decltype(overload(verifier_x, &::ENTRY_POINT));
    template <class verifier_a, class verifier_b>
    static auto method(verifier_a, verifier_b*) -> decltype(signature(verifier_a(), &verifier_b::ENTRY_POINT));
    template <class verifier_a, class verifier_b>
    static auto methods(verifier_a, verifier_b*) -> decltype(overload(verifier_a(), &verifier_b::ENTRY_POINT));
};

struct VerifierFunction {
    template <class... verifier_a>
    auto operator()(verifier_a&&... verifier_x) const -> decltype(::ENTRY_POINT(std::forward<verifier_a>(verifier_x)...)) {
        return ::ENTRY_POINT(std::forward<verifier_a>(verifier_x)...);
    }
};

template <class verifier_b> struct VerifierMethod {
    verifier_b* object;
    template <class... verifier_a>
    auto operator()(verifier_a&&... verifier_x) const -> decltype(object->ENTRY_POINT(std::forward<verifier_a>(verifier_x)...)) {
        return object->ENTRY_POINT(std::forward<verifier_a>(verifier_x)...);
    }
};
}

void verifier_serve() {
    verifier_driver::serve<verifier_driver::VerifierFind, verifier_driver::VerifierFunction, verifier_driver::VerifierMethod,
                           ::Solution, INPLACE_ARG>(std::integer_sequence<verifier_driver::Status, ARITIES>());
}
