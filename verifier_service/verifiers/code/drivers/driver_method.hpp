namespace verifier_driver {
struct VerifierFind {
    template <class verifier_a>
    static auto known(verifier_a verifier_x) -> decltype(signature(verifier_x, &::Solution::ENTRY_POINT));
    template <class verifier_a>
    static auto among(verifier_a verifier_x) -> decltype(overload(verifier_x, &::Solution::ENTRY_POINT));
};

struct VerifierCall {
    ::Solution* verifier_object = new ::Solution();
    template <class... verifier_a>
    auto operator()(verifier_a&&... verifier_x) const
        -> decltype(verifier_object->ENTRY_POINT(std::forward<verifier_a>(verifier_x)...)) {
        return verifier_object->ENTRY_POINT(std::forward<verifier_a>(verifier_x)...);
    }
};
}
