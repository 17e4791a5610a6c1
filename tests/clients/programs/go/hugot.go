// tests/clients/programs/go/hugot.go - prints what hugot's pipelines make of small random models.
// usage: hugot LIBRARY MODELS
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/knights-analytics/hugot"
	"github.com/knights-analytics/hugot/options"
	"github.com/knights-analytics/hugot/pipelines"
)

var texts = []string{"the cat sat on the mat.", "who is my dog?", "the new york dog ran", "where"}

func say(name string, values ...any) {
	words := make([]string, 0, len(values))
	for _, value := range values {
		words = append(words, strings.Trim(strings.ReplaceAll(fmt.Sprintf("%.4v", value), "\n", " "), "[]"))
	}
	fmt.Printf("result %s: %s\n", name, strings.Join(words, " "))
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	return value
}

func path(task string) string { return filepath.Join(os.Args[2], task) }

func vectors(session *hugot.Session, name string) {
	for kind, option := range map[string]hugot.FeatureExtractionOption{
		"plain": nil, "normalized": pipelines.WithNormalization(),
	} {
		config := hugot.FeatureExtractionConfig{ModelPath: path("feature-extraction"), Name: name + kind,
			OnnxFilename: "model.onnx"}
		if option != nil {
			config.Options = []hugot.FeatureExtractionOption{option}
		}
		pipeline := must(hugot.NewPipeline(session, config))
		for i, vector := range must(pipeline.RunPipeline(texts)).Embeddings {
			say(fmt.Sprintf("%s vectors %s, text %d", name, kind, i), vector)
		}
	}
}

func classes(session *hugot.Session, name string) {
	one := must(hugot.NewPipeline(session, hugot.TextClassificationConfig{ModelPath: path("text-classification"),
		Name: name + "classes", OnnxFilename: "model.onnx"}))
	for i, found := range must(one.RunPipeline(texts)).ClassificationOutputs {
		for _, class := range found {
			say(fmt.Sprintf("%s class of text %d", name, i), class.Label, class.Score)
		}
	}
	tokens := must(hugot.NewPipeline(session, hugot.TokenClassificationConfig{ModelPath: path("token-classification"),
		Name: name + "tokens", OnnxFilename: "model.onnx"}))
	for i, found := range must(tokens.RunPipeline(texts)).Entities {
		for k, entity := range found {
			say(fmt.Sprintf("%s token %d of text %d", name, k, i), entity.Entity, entity.Score, entity.Word)
		}
	}
	ranks := must(hugot.NewPipeline(session, hugot.CrossEncoderConfig{ModelPath: path("reranking"),
		Name: name + "ranks", OnnxFilename: "model.onnx"}))
	found := must(ranks.RunPipeline(texts[1], texts)).Results
	sort.Slice(found, func(a, b int) bool { return found[a].Index < found[b].Index })
	for _, rank := range found {
		say(fmt.Sprintf("%s rank of text %d", name, rank.Index), rank.Score)
	}
}

func main() {
	library := options.WithOnnxLibraryPath(os.Args[1])
	for name, more := range map[string][]options.WithOption{
		"defaults": {},
		"options": {options.WithIntraOpNumThreads(1), options.WithInterOpNumThreads(1), options.WithCpuMemArena(false),
			options.WithMemPattern(false), options.WithExecutionMode(true), options.WithIntraOpSpinning(false),
			options.WithInterOpSpinning(false), options.WithTelemetry()},
	} {
		session := must(hugot.NewORTSession(append([]options.WithOption{library}, more...)...))
		vectors(session, name)
		classes(session, name)
		if err := session.Destroy(); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	say("the session ends", "yes")
}
