
// Values from JSON, of the types that the submission's parameters have: the second part of the driver.

func verifierIsList(kind verifier_reflect.Type) bool {
	return verifierHas(kind, "Val", "Next") && !verifierHas(kind, "Left")
}

func verifierIsTree(kind verifier_reflect.Type) bool {
	return verifierHas(kind, "Val", "Left", "Right")
}

func verifierHas(kind verifier_reflect.Type, names ...string) bool {
	if kind.Kind() != verifier_reflect.Ptr || kind.Elem().Kind() != verifier_reflect.Struct {
		return false
	}
	for _, name := range names {
		if _, found := kind.Elem().FieldByName(name); !found {
			return false
		}
	}
	return true
}

// verifierFill sets a value from JSON data; whether its type takes it.
func verifierFill(item interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	if own, ok := into.Addr().Interface().(verifier_json.Unmarshaler); ok && item != nil {
		text, _ := verifier_json.Marshal(item)
		return own.UnmarshalJSON(text) == nil
	}
	if item == nil {
		switch kind.Kind() {
		case verifier_reflect.Ptr, verifier_reflect.Slice, verifier_reflect.Map, verifier_reflect.Interface:
			return true
		}
		return false
	}
	switch typed := item.(type) {
	case bool:
		if kind.Kind() == verifier_reflect.Bool {
			into.SetBool(typed)
			return true
		}
	case string:
		if verifierFillText(typed, into) {
			return true
		}
	case verifier_json.Number:
		if verifierFillNumber(string(typed), into) {
			return true
		}
	case []interface{}:
		if verifierFillItems(typed, into) {
			return true
		}
	case map[string]interface{}:
		if kind.Kind() == verifier_reflect.Map {
			return verifierFillMap(typed, into)
		}
		if kind.Kind() == verifier_reflect.Struct {
			text, _ := verifier_json.Marshal(typed)
			return verifier_json.Unmarshal(text, into.Addr().Interface()) == nil
		}
	}
	if kind.Kind() == verifier_reflect.Ptr && !verifierIsList(kind) && !verifierIsTree(kind) {
		into.Set(verifier_reflect.New(kind.Elem()))
		return verifierFill(item, into.Elem())
	}
	if kind.Kind() == verifier_reflect.Interface && kind.NumMethod() == 0 {
		into.Set(verifier_reflect.ValueOf(verifierNatural(item)))
		return true
	}
	return false
}

func verifierFillText(text string, into verifier_reflect.Value) bool {
	runes := []rune(text)
	switch kind := into.Type(); {
	case kind.Kind() == verifier_reflect.String:
		into.SetString(text)
	case kind.Kind() == verifier_reflect.Uint8 && len(text) == 1:
		into.SetUint(uint64(text[0]))
	case kind.Kind() == verifier_reflect.Int32 && len(runes) == 1:
		verifierRunesAreText = true
		into.SetInt(int64(runes[0]))
	case kind.Kind() == verifier_reflect.Slice && kind.Elem().Kind() == verifier_reflect.Uint8:
		into.SetBytes([]byte(text))
	default:
		return false
	}
	return true
}

func verifierFillNumber(text string, into verifier_reflect.Value) bool {
	whole := text
	if verifier_strings.ContainsAny(text, ".eE") {
		value, _ := verifier_strconv.ParseFloat(text, 64)
		whole = verifier_strconv.FormatFloat(value, 'f', -1, 64)
	}
	switch into.Kind() {
	case verifier_reflect.Int, verifier_reflect.Int8, verifier_reflect.Int16, verifier_reflect.Int32, verifier_reflect.Int64:
		value, err := verifier_strconv.ParseInt(whole, 10, 64)
		if err != nil || into.OverflowInt(value) {
			return false
		}
		into.SetInt(value)
	case verifier_reflect.Uint, verifier_reflect.Uint8, verifier_reflect.Uint16, verifier_reflect.Uint32, verifier_reflect.Uint64, verifier_reflect.Uintptr:
		value, err := verifier_strconv.ParseUint(whole, 10, 64)
		if err != nil || into.OverflowUint(value) {
			return false
		}
		verifierBytesAreNumbers = verifierBytesAreNumbers || into.Kind() == verifier_reflect.Uint8
		into.SetUint(value)
	case verifier_reflect.Float32, verifier_reflect.Float64:
		value, _ := verifier_strconv.ParseFloat(text, into.Type().Bits())
		into.SetFloat(value)
	default:
		return false
	}
	return true
}

func verifierFillItems(items []interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	switch {
	case verifierIsList(kind) || verifierIsTree(kind):
		return verifierFillNodes(items, into)
	case kind.Kind() == verifier_reflect.Slice:
		into.Set(verifier_reflect.MakeSlice(kind, len(items), len(items)))
	case kind.Kind() != verifier_reflect.Array || kind.Len() != len(items):
		return false
	}
	for index, item := range items {
		if !verifierFill(item, into.Index(index)) {
			return false
		}
	}
	return true
}

func verifierFillMap(items map[string]interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	into.Set(verifier_reflect.MakeMap(kind))
	for name, item := range items {
		key := verifier_reflect.New(kind.Key()).Elem()
		value := verifier_reflect.New(kind.Elem()).Elem()
		known := verifierFillText(name, key) || verifierFillNumber(name, key) // JSON has no keys but strings
		if !known || !verifierFill(item, value) {
			return false
		}
		into.SetMapIndex(key, value)
	}
	return true
}

func verifierNatural(item interface{}) interface{} {
	switch typed := item.(type) {
	case verifier_json.Number:
		if whole, err := verifier_strconv.Atoi(string(typed)); err == nil {
			return whole
		}
		value, _ := typed.Float64()
		return value
	case []interface{}:
		for index := range typed {
			typed[index] = verifierNatural(typed[index])
		}
	case map[string]interface{}:
		for name := range typed {
			typed[name] = verifierNatural(typed[name])
		}
	}
	return item
}

// verifierFillNodes makes a linked list or a binary tree as contest sites write them, whoever defines them.
func verifierFillNodes(items []interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	nodes := []verifier_reflect.Value{}
	tree := verifierIsTree(kind)
	for index, item := range items {
		parent := index - 1
		if tree {
			parent = (index - 1) / 2
		}
		if item == nil && tree || index > 0 && parent >= len(nodes) {
			continue
		}
		node := verifier_reflect.New(kind.Elem())
		if !verifierFill(item, node.Elem().FieldByName("Val")) {
			return false
		}
		switch {
		case index == 0:
			into.Set(node)
		case !tree:
			nodes[parent].Elem().FieldByName("Next").Set(node)
		case index%2 == 1:
			nodes[parent].Elem().FieldByName("Left").Set(node)
		default:
			nodes[parent].Elem().FieldByName("Right").Set(node)
		}
		nodes = append(nodes, node)
	}
	return true
}
